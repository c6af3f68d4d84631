-- Sessions have numbers, because an index of 30-byte ids is written three times as often. Those of newer sessions are
-- higher: what grows at its end writes the fewest pages.
CREATE TABLE numbered (
	number INTEGER PRIMARY KEY,
	session_id TEXT NOT NULL UNIQUE
);

-- Each row says whose it is, so that it can be read without any other page.
CREATE TABLE event (
	position INTEGER PRIMARY KEY,
	id TEXT NOT NULL,
	session_id TEXT NOT NULL,
	session INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	kind TEXT NOT NULL,
	version INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	data TEXT,
	private TEXT
);
CREATE UNIQUE INDEX event_by_session ON event (session, seq);
-- The time and the counter of an id, which tell apart nearly all.
CREATE INDEX event_by_id ON event (substr(id, 5, 12));

CREATE TABLE session (
	id TEXT PRIMARY KEY NOT NULL,
	project_id TEXT NOT NULL,
	parent_id TEXT NOT NULL,
	directory TEXT NOT NULL,
	subpath TEXT NOT NULL,
	title TEXT NOT NULL,
	time_created INTEGER NOT NULL,
	time_updated INTEGER NOT NULL,
	time_archived INTEGER NOT NULL,
	unfinished INTEGER NOT NULL DEFAULT 0,
	crc INTEGER NOT NULL,
	data TEXT NOT NULL
);
CREATE INDEX session_by_time ON session (time_created, id);
CREATE INDEX session_by_project ON session (project_id, time_created, id);
CREATE INDEX session_by_directory ON session (directory, time_created, id);
CREATE INDEX session_by_parent ON session (parent_id, time_created, id);
CREATE INDEX session_unfinished ON session (id) WHERE unfinished = 1;

CREATE TABLE message (
	place INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	type TEXT NOT NULL,
	call_id TEXT NOT NULL,
	through INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	data TEXT NOT NULL
);
CREATE INDEX message_by_type ON message (place >> 32, type) WHERE type <> 'assistant';

CREATE TABLE input (
	id TEXT PRIMARY KEY NOT NULL,
	session INTEGER NOT NULL,
	delivery TEXT NOT NULL,
	admitted_seq INTEGER NOT NULL,
	promoted_seq INTEGER,
	rank INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	data TEXT NOT NULL
);
CREATE INDEX input_by_session ON input (session, promoted_seq, rank, admitted_seq);

CREATE TABLE epoch (
	session INTEGER PRIMARY KEY,
	baseline TEXT NOT NULL,
	baseline_seq INTEGER NOT NULL,
	snapshot TEXT,
	revision INTEGER NOT NULL,
	crc INTEGER NOT NULL
);

CREATE TABLE ask (
	id TEXT PRIMARY KEY NOT NULL,
	session_id TEXT NOT NULL,
	seq INTEGER NOT NULL,
	pending INTEGER NOT NULL,
	time INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	data TEXT NOT NULL
);
CREATE INDEX ask_by_session ON ask (session_id, seq);
CREATE INDEX ask_pending ON ask (time) WHERE pending = 1;

CREATE TABLE approval (
	id TEXT PRIMARY KEY NOT NULL,
	project_id TEXT NOT NULL,
	action TEXT NOT NULL,
	resource TEXT NOT NULL,
	time INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	UNIQUE (project_id, action, resource)
);

-- No index by time: it would be one more page in every turn, and what all sessions cost is asked rarely.
CREATE TABLE spend (
	place INTEGER PRIMARY KEY,
	time INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	data TEXT NOT NULL
);

CREATE TABLE meta (
	key TEXT PRIMARY KEY NOT NULL,
	value TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO meta (key, value) VALUES ('position', '0');
