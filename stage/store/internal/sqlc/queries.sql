-- name: UpsertPage :batchexec
insert into page (id, "colA", "colB", "colC", "colD") values ($1, $2, $3, $4, $5)
on conflict (id) do update set "colA" = excluded."colA", "colB" = excluded."colB", "colC" = excluded."colC", "colD" = excluded."colD";

-- name: CopyPage :copyfrom
insert into page (id, "colA", "colB", "colC", "colD") values ($1, $2, $3, $4, $5);

-- name: UpsertTyped :batchexec
insert into typed (id, "colA", "colB", "colC", "colD") values ($1, $2, $3, $4, $5)
on conflict (id) do update set "colA" = excluded."colA", "colB" = excluded."colB", "colC" = excluded."colC", "colD" = excluded."colD";

-- name: CopyTyped :copyfrom
insert into typed (id, "colA", "colB", "colC", "colD") values ($1, $2, $3, $4, $5);
