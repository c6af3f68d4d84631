// Package composer is the editor of prompts: several lines, pastes as tokens, history, completion, and a draft that
// outlives the process.
package composer
