-- One row per execution of a trial. A trial that a later run takes over instead of running it
-- again is linked to that run; the row itself is written once and never changed.
CREATE TABLE environments (
    digest TEXT PRIMARY KEY,
    record TEXT NOT NULL
);

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    environment TEXT NOT NULL REFERENCES environments (digest),
    command TEXT NOT NULL,
    settings TEXT NOT NULL,
    axes TEXT NOT NULL,
    started TEXT NOT NULL,
    ended TEXT
);

CREATE TABLE trials (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL,
    environment TEXT NOT NULL REFERENCES environments (digest),
    verdict TEXT NOT NULL,
    stop TEXT NOT NULL,
    trial TEXT NOT NULL,
    outcome TEXT NOT NULL,
    ending TEXT NOT NULL,
    payload TEXT NOT NULL,
    directory TEXT,
    stored TEXT NOT NULL
);
CREATE INDEX trials_by_digest ON trials (digest);
CREATE INDEX trials_by_environment ON trials (environment);

CREATE TABLE findings (
    trial INTEGER NOT NULL REFERENCES trials (id),
    position INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (trial, position)
) WITHOUT ROWID;
CREATE INDEX findings_by_fingerprint ON findings (fingerprint);

CREATE TABLE run_trials (
    run INTEGER NOT NULL REFERENCES runs (id),
    trial INTEGER NOT NULL REFERENCES trials (id),
    reused INTEGER NOT NULL,
    PRIMARY KEY (run, trial)
) WITHOUT ROWID;
