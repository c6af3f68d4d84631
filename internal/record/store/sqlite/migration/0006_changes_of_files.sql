-- Events that record changes of files are few, and read without all others. Not IN: each insert would make a table of the
-- list.
CREATE INDEX event_of_changes ON event (session, seq) WHERE
	kind = 'session.next.files.writing' OR kind = 'session.next.tree.captured' OR
	kind = 'session.next.tree.changed' OR kind = 'session.next.tool.failed';

-- Nothing looks for an event by its id.
DROP INDEX event_by_id;
