create table page (
	id     varchar primary key,
	"colA" varchar not null,
	"colB" varchar not null,
	"colC" varchar not null,
	"colD" jsonb not null
);

create table typed (
	id     int8 primary key,
	"colA" timestamptz not null,
	"colB" uuid not null,
	"colC" numeric not null,
	"colD" text not null
);
