// Package describe says in words what happens in sessions, for every interface: titles, calls and their results,
// requests for permission, retries, summaries and costs. Its texts have no control characters.
package describe
