-- How long an approval holds: "project" until it is revoked, "process" as long as the process of the holder runs, "session" as
-- long as the session of the holder exists.
CREATE TABLE approval_with_lifetime (
	id TEXT PRIMARY KEY NOT NULL,
	project_id TEXT NOT NULL,
	action TEXT NOT NULL,
	resource TEXT NOT NULL,
	lifetime TEXT NOT NULL,
	holder TEXT NOT NULL,
	time INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	UNIQUE (project_id, action, resource, lifetime, holder)
);
INSERT INTO approval_with_lifetime SELECT id, project_id, action, resource, 'project', '', time, crc FROM approval;
DROP TABLE approval;
ALTER TABLE approval_with_lifetime RENAME TO approval;
