CREATE TABLE state (version BIGINT NOT NULL, changed BIGINT NOT NULL, bytes BIGINT NOT NULL);
INSERT INTO state VALUES (0, 0, 0);

CREATE TABLE traces (
	n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, changed BIGINT NOT NULL,
	agent TEXT NOT NULL, said TEXT NOT NULL,
	first_agent TEXT NOT NULL, first_started BIGINT NOT NULL, first_ended BIGINT NOT NULL, first_id TEXT NOT NULL,
	task TEXT NOT NULL, started BIGINT NOT NULL, ended BIGINT NOT NULL, status TEXT NOT NULL, reward DOUBLE,
	spans BIGINT NOT NULL, errors BIGINT NOT NULL, bytes BIGINT NOT NULL, metadata TEXT NOT NULL
);
CREATE UNIQUE INDEX traces_changed ON traces (changed);
CREATE UNIQUE INDEX traces_started ON traces (started, id);
CREATE INDEX traces_task ON traces (task, started, id);
CREATE INDEX traces_status ON traces (status, started, id);
CREATE INDEX traces_reward ON traces (reward);

CREATE TABLE agents (
	agent TEXT NOT NULL, started BIGINT NOT NULL, id TEXT NOT NULL, trace BIGINT NOT NULL,
	PRIMARY KEY (agent, started, id)
) WITHOUT ROWID;
CREATE INDEX agents_trace ON agents (trace);

CREATE TABLE metadata (
	trace BIGINT NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL,
	PRIMARY KEY (trace, name)
) WITHOUT ROWID;
CREATE INDEX metadata_value ON metadata (name, value, trace);

CREATE TABLE spans (
	trace BIGINT NOT NULL, id TEXT NOT NULL, agent TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL,
	started BIGINT NOT NULL, ended BIGINT NOT NULL, bytes BIGINT NOT NULL,
	history BLOB, answer BLOB, body TEXT NOT NULL
);
CREATE UNIQUE INDEX spans_id ON spans (trace, id);

CREATE TABLE messages (trace BIGINT NOT NULL, digest BLOB NOT NULL, before BLOB, body TEXT NOT NULL);
CREATE UNIQUE INDEX messages_digest ON messages (trace, digest);

CREATE TABLE rewards (
	trace BIGINT NOT NULL, span TEXT NOT NULL, name TEXT NOT NULL, about TEXT NOT NULL, score DOUBLE,
	started BIGINT NOT NULL, ended BIGINT NOT NULL,
	PRIMARY KEY (trace, span)
) WITHOUT ROWID;
