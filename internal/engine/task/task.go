// Package task runs work that a call starts beside its turn: background jobs, and tasks in the sessions of subagents.
//
// A job is a command or a task that outlives the turn of the call that started it. It is recorded before it starts, and
// its end when it ends, whatever ended it. It runs in the process that started it and stops with it. Of the jobs that the
// next process finds running, it records commands as interrupted and continues tasks (CloseOrphans).
//
// A call and its task are bound by ids: those of the child session and of its prompt follow from the id of the call's
// part. A call that is run again, after the end of a process, finds what it began and waits on. What the task came to
// is read from the child's history, so that its end reaches the caller once, however often either of them was cut off.
package task
