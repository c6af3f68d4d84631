package engine

import (
	"cmp"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
)

// Limits bounds the engine. Zero fields take the defaults of DefaultLimits.
type Limits struct {
	Pending      int           // admitted prompts per session
	SteerBatch   int           // steers promoted at one boundary
	Sessions     int           // sessions that run at the same time
	CallTools    int           // tool calls of one turn at the same time
	Tools        int           // tool calls of the process at the same time
	Turns        int           // provider turns per promoted input before the engine asks
	Attempts     int           // attempts per provider turn
	EmptyRepeats int           // retries after empty or malformed answers
	RetryTime    time.Duration // from the first failure of a turn to giving up
	Recoveries   int           // times that the work on one input is resumed after a crash
	PromptBytes  int           // one prompt, attachments included
	ImageBytes   int           // one attached image, in base64
	FileBytes    int           // any attached file
	AnswerBytes  int           // one provider turn: text, reasoning and arguments together
	TaskDepth    int           // sessions that work for each other, one below the other
	Children     int           // child sessions of a session
	TaskTime     time.Duration // of one task of a subagent
	Checkpoint   time.Duration // time of streamed text that a crash may lose
	CheckBytes   int           // bytes of streamed text that a crash may lose
}

// DefaultLimits returns the limits of a product with default configuration.
func DefaultLimits() Limits {
	return Limits{
		Pending: 64, SteerBatch: 16, Sessions: 256, CallTools: 16, Tools: 64, Turns: 200,
		Attempts: 8, EmptyRepeats: 2, RetryTime: 10 * time.Minute, Recoveries: 2,
		TaskDepth: 3, Children: 500, TaskTime: 2 * time.Hour,
		PromptBytes: 16 << 20, AnswerBytes: 16 << 20, ImageBytes: 5 << 20, FileBytes: 10 << 20,
		Checkpoint: 900 * time.Millisecond, CheckBytes: 16 << 10,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	l.Pending = cmp.Or(l.Pending, d.Pending)
	l.SteerBatch = cmp.Or(l.SteerBatch, d.SteerBatch)
	l.Sessions = cmp.Or(l.Sessions, d.Sessions)
	l.CallTools = cmp.Or(l.CallTools, d.CallTools)
	l.Tools = cmp.Or(l.Tools, d.Tools)
	l.Turns = cmp.Or(l.Turns, d.Turns)
	l.Attempts = cmp.Or(l.Attempts, d.Attempts)
	l.EmptyRepeats = cmp.Or(l.EmptyRepeats, d.EmptyRepeats)
	l.RetryTime = cmp.Or(l.RetryTime, d.RetryTime)
	l.Recoveries = cmp.Or(l.Recoveries, d.Recoveries)
	l.PromptBytes = cmp.Or(l.PromptBytes, d.PromptBytes)
	l.ImageBytes = cmp.Or(l.ImageBytes, d.ImageBytes)
	l.FileBytes = cmp.Or(l.FileBytes, d.FileBytes)
	l.AnswerBytes = cmp.Or(l.AnswerBytes, d.AnswerBytes)
	l.TaskDepth = cmp.Or(l.TaskDepth, d.TaskDepth)
	l.Children = cmp.Or(l.Children, d.Children)
	l.TaskTime = cmp.Or(l.TaskTime, d.TaskTime)
	l.Checkpoint = cmp.Or(l.Checkpoint, d.Checkpoint)
	l.CheckBytes = cmp.Or(l.CheckBytes, d.CheckBytes)
	return l
}

func (l Limits) retryLimits() turnlog.RetryLimits {
	return turnlog.RetryLimits{
		Attempts: l.Attempts, EmptyRepeats: l.EmptyRepeats, Time: l.RetryTime,
	}
}
