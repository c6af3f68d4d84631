// Package fifotest makes named pipes for tests.
package fifotest
