-- Events that record changes of files are few, and read without all others.
CREATE INDEX event_of_changes ON event (session, seq) WHERE kind IN (
	'session.next.files.writing', 'session.next.tree.captured', 'session.next.tree.changed', 'session.next.tool.failed'
);
