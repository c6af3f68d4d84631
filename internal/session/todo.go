package session

// Todo is a step of the work that the model has planned.
type Todo struct {
	Content  string       `json:"content"`
	Status   TodoStatus   `json:"status"`
	Priority TodoPriority `json:"priority"`
}

// TodoStatus says how far a Todo is.
type TodoStatus string

// The statuses.
const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress"
	TodoCompleted  TodoStatus = "completed"
	TodoCancelled  TodoStatus = "cancelled"
)

// Open reports whether something is still to be done.
func (s TodoStatus) Open() bool { return s != TodoCompleted && s != TodoCancelled }

// TodoPriority says how much a Todo matters.
type TodoPriority string

// The priorities.
const (
	TodoHigh   TodoPriority = "high"
	TodoMedium TodoPriority = "medium"
	TodoLow    TodoPriority = "low"
)
