package pty

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"
)

// TicketLife is the validity of a ticket.
const TicketLife = time.Minute

// maxTickets bounds the unused tickets.
const maxTickets = 10_000

// tickets are random words with which a client attaches once to one terminal: WebSockets of browsers cannot send
// credentials. The zero value is ready to use.
type tickets struct {
	mu sync.Mutex // guards m
	m  map[string]ticket
}

type ticket struct {
	directory, id string
	until         time.Time
}

// IssueTicket returns a ticket for a terminal of the directory.
func (t *Terminals) IssueTicket(directory, id string) (string, error) {
	if _, err := t.findTerminal(directory, id); err != nil {
		return "", err
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	word := fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	t.tickets.addTicket(word, ticket{directory, id, time.Now().Add(TicketLife)})
	return word, nil
}

func (s *tickets) addTicket(word string, k ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string]ticket{}
	}
	if len(s.m) >= maxTickets {
		for w, old := range s.m {
			if time.Now().After(old.until) || len(s.m) >= maxTickets {
				delete(s.m, w)
			}
		}
	}
	s.m[word] = k
}

// IsTicketValid reports whether the ticket is valid for a terminal with this ID. It does not use the ticket.
func (t *Terminals) IsTicketValid(word, id string) bool {
	s := &t.tickets
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.m[word]
	return ok && k.id == id && time.Now().Before(k.until)
}

// RedeemTicket reports whether the ticket is valid for the terminal of the directory, and uses it.
func (t *Terminals) RedeemTicket(word, directory, id string) bool {
	s := &t.tickets
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.m[word]
	delete(s.m, word)
	return ok && k.id == id && k.directory == directory && time.Now().Before(k.until)
}
