// Package script holds the Player, a model that plays a script file instead of asking a provider, for tests.
//
// A script is an ordered list of turns; each request that reaches the Player is answered by one of them. A turn is a
// list of steps, played in order: text and reasoning in chunks, tool calls, pauses, gates and faults. A script can
// express every good or bad behaviour of a real provider. It is played under the same clocks (llm.Watch), so that a
// test in a synctest bubble sees what a session would see.
//
// The file is JSON, strict: an unknown key is an error that names its line. This one runs a command and then ends:
//
//	{"turns": [
//	  {"steps": [{"text": ["Let me ", "look."]},
//	             {"call": {"id": "c1", "name": "bash", "arguments": {"command": "ls"}}}],
//	   "usage": {"input": 100, "output": 20}},
//	  {"steps": [{"call": {"name": "read", "arguments": {"filePath": {"$result": {"call": "c1", "line": 1}}}}}]},
//	  {"repeat": true, "steps": [{"text": "Done."}]}
//	]}
//
// A value {"$result": {…}} inside the arguments of a call is replaced by text of an earlier tool result; see Result.
//
// Which turn answers: the first turn with a Match that matches the last user text and is not used up; else the first
// turn without Match that is not used up; else an error that says that the script has ended.
package script

import (
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/go-json-experiment/json/jsontext"
)

// Script is the sequence of turns that a Player plays. Its JSON form is the file format.
type Script struct {
	Description string `json:"description,omitzero"`
	Window      int64  `json:"window,omitzero"` // the model's context window in tokens; 0 is unknown
	Turns       []Turn `json:"turns"`
}

// Turn answers one request, or several.
type Turn struct {
	// RE2; the turn answers only if it matches the last user text
	Match  string           `json:"match,omitzero"`
	Repeat bool             `json:"repeat,omitzero"` // the turn is never used up
	Times  int              `json:"times,omitzero"`  // how many requests the turn answers; 0 means one
	Every  time.Duration    `json:"every,omitzero"`  // waited before each chunk; "20ms" in a file
	Steps  []Step           `json:"steps"`
	Usage  Usage            `json:"usage,omitzero"`
	Finish llm.FinishReason `json:"finish,omitzero"` // default: tool-calls if the turn has a call, else stop
}

// Step is one event of a turn. Exactly one of Text, Reasoning, Call, Delay, Gate and Fault is set. Delays and gates
// before the first content are part of the wait for response headers, later ones of silence. A text or reasoning step
// is one block; the block before a fault stays open, as in a broken stream.
type Step struct {
	Text      Chunks        `json:"text,omitzero"`
	Reasoning Chunks        `json:"reasoning,omitzero"`
	Call      *Call         `json:"call,omitzero"`
	Delay     time.Duration `json:"delay,omitzero"` // "1.5s" in a file
	Gate      string        `json:"gate,omitzero"`  // waits for the channel of this name in Player.Gates
	Fault     *Fault        `json:"fault,omitzero"` // ends the turn; the last step

	Open     bool         `json:"open,omitzero"`     // with Text or Reasoning: the next step of the same kind continues the block
	Times    int          `json:"times,omitzero"`    // with Text or Reasoning: how often the chunks are sent; 0 means once
	Metadata llm.Metadata `json:"metadata,omitzero"` // with Text, Reasoning or Call
}

// Chunks are the deltas of one block. In a file, a string is one chunk.
type Chunks []string

// Call is a tool call. Its input is Arguments, or Raw when that is set.
type Call struct {
	// sent unchanged, so that a script can repeat an id; default call_<request>_<n>
	ID        string         `json:"id,omitzero"`
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments,omitzero"` // a JSON object; may hold {"$result": …}; default {}
	Raw       string         `json:"raw,omitzero"`       // argument text that is sent verbatim, valid JSON or not
	Split     int            `json:"split,omitzero"`     // bytes per delta of the argument text; 0 sends it whole
	Cut       bool           `json:"cut,omitzero"`       // the stream ends in the middle of the argument text
	Hosted    *HostedOutcome `json:"hosted,omitzero"`    // the provider ran the call itself
}

// HostedOutcome is the outcome of a call that the provider ran.
type HostedOutcome struct {
	Result  jsontext.Value `json:"result"`
	IsError bool           `json:"isError,omitzero"`
}

// Usage is the provider's count for a turn, with the meaning of llm.Usage.
type Usage struct {
	Input      int64          `json:"input,omitzero"`
	Output     int64          `json:"output,omitzero"`
	Reasoning  int64          `json:"reasoning,omitzero"`
	CacheRead  int64          `json:"cacheRead,omitzero"`
	CacheWrite int64          `json:"cacheWrite,omitzero"`
	Total      int64          `json:"total,omitzero"`
	LongWrite  int64          `json:"longWrite,omitzero"`
	Billed     *int64         `json:"billed,omitzero"`
	Raw        jsontext.Value `json:"raw,omitzero"`
}

// Fault is a failure of a turn. Status, Class, Message, RetryAfter, RequestID and Window define the error of
// FaultStatus; Message also that of other faults.
type Fault struct {
	Kind       FaultKind     `json:"kind"`
	Status     int           `json:"status,omitzero"`
	Class      llm.Class     `json:"class,omitzero"` // default: the class of Status
	Message    string        `json:"message,omitzero"`
	RetryAfter time.Duration `json:"retryAfter,omitzero"`
	RequestID  string        `json:"requestID,omitzero"`
	Window     int64         `json:"window,omitzero"` // the context window that the provider names
}

// FaultKind names a fault.
type FaultKind string

// The faults. Malformed and cut tool arguments and repeated ids are part of Call.
const (
	FaultConnectHang FaultKind = "connect-hang" // no connection until a clock or the caller ends the wait; first step only
	FaultHeaderHang  FaultKind = "header-hang"  // connected, no headers; first step only
	FaultSilence     FaultKind = "silence"      // headers and the content so far, then nothing
	FaultReset       FaultKind = "reset"        // the connection breaks
	FaultEnd         FaultKind = "end"          // the stream ends without a finish
	// the provider refuses with Status or Class; later steps: an error in the stream
	FaultStatus    FaultKind = "status"    // an HTTP error with Status or Class; in later steps an error in the stream
	FaultMalformed FaultKind = "malformed" // bytes that violate the protocol
	FaultEmpty     FaultKind = "empty"     // a well-formed answer without content; first step only
)

// Result selects text from the tool results of the request. Call selects the last result of that call id; without it
// Index counts the results, 0 the first and -1 the last. Line, if not 0, selects one line, 1 the first and -1 the last
// that is not empty. Regexp, if set, selects what its group Group matches, by default 1, or the whole match if there is
// no group. If the text does not exist, the turn ends with an error.
type Result struct {
	Call   string `json:"call,omitzero"`
	Index  *int   `json:"index,omitzero"` // default -1
	Line   int    `json:"line,omitzero"`
	Regexp string `json:"regexp,omitzero"`
	Group  *int   `json:"group,omitzero"`
}
