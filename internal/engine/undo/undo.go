// Package undo records what the calls of a session do to files, and takes it back.
//
// A file tool announces each write before it makes it, with both contents ([CallRecorder.RecordWrites]). A command can
// change any file: what it changed is the difference between the worktree before and after it, without the files that
// calls of file tools wrote meanwhile ([CallRecorder.WatchTree]). From these records follows what each prompt and the
// whole session changed ([ReadLedger]).
//
// A revert plans which files return to which state, restores them, and returns the events that hide or remove messages
// ([Reverter.Plan]). Only files that the session wrote are touched, and only if they are still as the session left them.
// Another file is a conflict: it stays as it is and is named. A forced revert restores it as well and makes a copy of what
// it held.
//
// A revert is staged first: files are restored and messages hidden. Clearing it brings both back. Committing it, which
// the next prompt does as well, removes the messages. The plan is stored before the first file is touched, so that
// after a crash the next process completes it ([Reverter.Resume]).
//
// A file passes through these steps: its chain of recorded changes and its present state give a filePlan (planFile);
// the plans of all files are a session.Revert (Plan); that is stored and then carried out (StageRevert, Resume).
package undo
