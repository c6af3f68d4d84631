package acp

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// update is something that a client shows of a session: one of the types of this file. Each version of the protocol has
// its own form of it.
type update interface{ isUpdate() }

type (
	// userText is a prompt, or a piece of one.
	userText struct {
		messageID string
		content   []block
		isOwn     bool // the client has sent it
	}
	// agentText is more of what the model says.
	agentText struct{ messageID, text string }
	// thought is more of what the model thinks.
	thought struct{ messageID, text string }
	// callUpdate is a call of a tool, or what has changed of it: zero members have not.
	callUpdate struct {
		isNew     bool
		id        string
		title     string
		tool      string
		kind      callKind
		status    callStatus
		content   []callContent
		paths     []string
		rawInput  jsontext.Value
		rawOutput jsontext.Value
	}
	// plan is the model's list of things to do.
	plan struct{ todos []session.Todo }
	// agentChanged and modelChanged are the choice of another agent or model.
	agentChanged struct{ agent string }
	modelChanged struct{}
	// titleChanged is a new title.
	titleChanged struct{ title string }
	// usage is what the newest request took of the model's window, and what the session has cost.
	usage struct {
		used, size int64
		cost       session.USD
	}
	// notice is a text for people.
	notice struct{ title, text string }
	// commandList are the commands of the directory.
	commandList struct{ commands []command }
	// stateChanged is the beginning or the end of work.
	stateChanged struct {
		state stateName
		stop  stopReason // of an idle session, "" if it is not known
		why   *rpcError  // of a failure
		isOwn bool       // the work was that of a prompt of this client
	}
)

func (userText) isUpdate()     {}
func (agentText) isUpdate()    {}
func (thought) isUpdate()      {}
func (callUpdate) isUpdate()   {}
func (plan) isUpdate()         {}
func (agentChanged) isUpdate() {}
func (modelChanged) isUpdate() {}
func (titleChanged) isUpdate() {}
func (usage) isUpdate()        {}
func (notice) isUpdate()       {}
func (commandList) isUpdate()  {}
func (stateChanged) isUpdate() {}

// The words that both versions of the protocol share.
type (
	callKind   string
	callStatus string
	stateName  string
	stopReason string
)

const (
	statusPending   callStatus = "pending"
	statusRunning   callStatus = "in_progress"
	statusCompleted callStatus = "completed"
	statusFailed    callStatus = "failed"

	stateRunning stateName = "running"
	stateIdle    stateName = "idle"
	stateAsks    stateName = "requires_action"

	stopEnd       stopReason = "end_turn"
	stopLength    stopReason = "max_tokens"
	stopTurns     stopReason = "max_turn_requests"
	stopRefused   stopReason = "refusal"
	stopCancelled stopReason = "cancelled"
)

// block is a piece of content: a text, or data of a media type, or a link.
type block struct {
	text      string
	mediaType string
	data      string // base64
	uri, name string
}

// callContent is a piece of what a call shows: a text, data, or the change of a file.
type callContent struct {
	block
	diff *fileDiff
}

// fileDiff is the change of a file: a part of it before and after, or a patch in git's form.
type fileDiff struct {
	path     string
	old, new string
	kind     string // of a result: add, update, delete or move
	moved    string // the path before a move
	patch    string
}

// command is a command of the directory.
type command struct{ name, description, hint string }
