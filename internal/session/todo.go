package session

// Todo is a planned step of the model's work.
type Todo struct {
	Content  string       `json:"content"`
	Status   TodoStatus   `json:"status"`
	Priority TodoPriority `json:"priority"`
}

// TodoStatus is the progress of a Todo.
type TodoStatus string

// The todo statuses.
const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress"
	TodoCompleted  TodoStatus = "completed"
	TodoCancelled  TodoStatus = "cancelled"
)

// Open reports whether the step is still to be done.
func (s TodoStatus) Open() bool { return s != TodoCompleted && s != TodoCancelled }

// TodoPriority is the priority of a Todo.
type TodoPriority string

// The todo priorities.
const (
	TodoHigh   TodoPriority = "high"
	TodoMedium TodoPriority = "medium"
	TodoLow    TodoPriority = "low"
)
