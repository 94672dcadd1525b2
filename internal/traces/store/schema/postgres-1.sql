CREATE TABLE state (version BIGINT NOT NULL, changed BIGINT NOT NULL, bytes BIGINT NOT NULL);
COMMENT ON TABLE state IS 'traces of merit';
INSERT INTO state VALUES (0, 0, 0);

CREATE TABLE traces (
	n BIGINT PRIMARY KEY, id TEXT COLLATE "C" NOT NULL UNIQUE, changed BIGINT NOT NULL,
	agent TEXT COLLATE "C" NOT NULL, said TEXT COLLATE "C" NOT NULL,
	first_agent TEXT COLLATE "C" NOT NULL, first_started BIGINT NOT NULL, first_ended BIGINT NOT NULL, first_id TEXT COLLATE "C" NOT NULL,
	task TEXT COLLATE "C" NOT NULL, started BIGINT NOT NULL, ended BIGINT NOT NULL, status TEXT COLLATE "C" NOT NULL, reward DOUBLE PRECISION,
	spans BIGINT NOT NULL, errors BIGINT NOT NULL, bytes BIGINT NOT NULL, metadata TEXT NOT NULL
);
CREATE INDEX traces_changed ON traces (changed);
CREATE UNIQUE INDEX traces_started ON traces (started, id);
CREATE INDEX traces_task ON traces (task, started, id);
CREATE INDEX traces_status ON traces (status, started, id);
CREATE INDEX traces_reward ON traces (reward);

CREATE TABLE agents (
	agent TEXT COLLATE "C" NOT NULL, started BIGINT NOT NULL, id TEXT COLLATE "C" NOT NULL, trace BIGINT NOT NULL,
	PRIMARY KEY (agent, started, id)
);
CREATE INDEX agents_trace ON agents (trace);

CREATE TABLE metadata (
	trace BIGINT NOT NULL, name TEXT COLLATE "C" NOT NULL, value BYTEA NOT NULL,
	PRIMARY KEY (trace, name)
);
CREATE INDEX metadata_value ON metadata (name, value, trace);

CREATE TABLE spans (
	trace BIGINT NOT NULL, id TEXT COLLATE "C" NOT NULL, agent TEXT COLLATE "C" NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL,
	started BIGINT NOT NULL, ended BIGINT NOT NULL, bytes BIGINT NOT NULL,
	history BYTEA, answer BYTEA, body TEXT NOT NULL,
	PRIMARY KEY (trace, id)
);

CREATE TABLE messages (
	trace BIGINT NOT NULL, digest BYTEA NOT NULL, before BYTEA, body TEXT NOT NULL,
	PRIMARY KEY (trace, digest)
);

CREATE TABLE rewards (
	trace BIGINT NOT NULL, span TEXT COLLATE "C" NOT NULL, name TEXT NOT NULL, about TEXT NOT NULL, score DOUBLE PRECISION,
	started BIGINT NOT NULL, ended BIGINT NOT NULL,
	PRIMARY KEY (trace, span)
);
