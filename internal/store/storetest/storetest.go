// Package storetest is the exam that every store must pass, and the stores that exist for tests only: Memory, which
// keeps the contract without a disk and can lose power, and Failing, which breaks any store at a chosen transaction.
package storetest

import "github.com/cairn-dev/cairn/internal/store"

var _ store.Store = (*Memory)(nil)
