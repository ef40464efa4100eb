CREATE TABLE postage_machine (
  id INTEGER NOT NULL PRIMARY KEY,
  identity TEXT NOT NULL UNIQUE
);

CREATE TABLE postage_record (
  id INTEGER NOT NULL PRIMARY KEY,
  -- What tells the run from all others, though it may be resumed: a digest of its first block.
  run TEXT NOT NULL UNIQUE,
  -- A digest of the whole record.
  content TEXT NOT NULL,
  name TEXT NOT NULL,
  machine_id INTEGER NOT NULL REFERENCES postage_machine (id),
  started_ms BIGINT NOT NULL,
  added_ms BIGINT NOT NULL,
  commit_id TEXT NOT NULL,
  -- Text, since it has 64 bits and no sign.
  seed TEXT NOT NULL,
  go_version TEXT NOT NULL,
  format_version INTEGER NOT NULL,
  partial INTEGER NOT NULL,
  cases INTEGER NOT NULL,
  figures INTEGER NOT NULL,
  blocks INTEGER NOT NULL
);

CREATE TABLE postage_row (
  id INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

CREATE TABLE postage_anchor (
  id INTEGER NOT NULL PRIMARY KEY,
  machine_id INTEGER NOT NULL REFERENCES postage_machine (id),
  case_name TEXT NOT NULL,
  contender TEXT NOT NULL,
  version TEXT NOT NULL,
  UNIQUE (machine_id, case_name, contender, version)
);

-- The figures of a row lie beside one another, so that a trend is read from few pages.
CREATE TABLE postage_figure (
  row_id INTEGER NOT NULL REFERENCES postage_row (id),
  record_id INTEGER NOT NULL REFERENCES postage_record (id),
  anchor_id INTEGER REFERENCES postage_anchor (id),
  ratio DOUBLE PRECISION,
  ratio_low DOUBLE PRECISION,
  ratio_high DOUBLE PRECISION,
  ns DOUBLE PRECISION NOT NULL,
  ns_low DOUBLE PRECISION,
  ns_high DOUBLE PRECISION,
  blocks INTEGER NOT NULL,
  allocs BIGINT,
  bytes BIGINT,
  module TEXT NOT NULL,
  -- The row's other figures by unit, as a JSON object.
  metrics TEXT NOT NULL,
  PRIMARY KEY (row_id, record_id)
) WITHOUT ROWID;

INSERT INTO postage_schema (version) VALUES (1);
