package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// row is one figure.
type row struct {
	ID      string  `json:"id"` // of the performance table
	What    string  `json:"what"`
	Figure  float64 `json:"figure"`
	Unit    string  `json:"unit"`
	N       int     `json:"n"`                // samples
	Limit   float64 `json:"limit,omitzero"`   // what the machine needs for the same work; 0: nothing to compare with
	Of      string  `json:"of,omitzero"`      // what the limit is
	Target  float64 `json:"target,omitzero"`  // 0: none
	AtLeast bool    `json:"atLeast,omitzero"` // more is better
	Foreign float64 `json:"foreign"`          // cores that other processes used meanwhile
}

func (r row) ok() bool {
	if r.AtLeast {
		return r.Figure >= r.Target
	}
	return r.Figure <= r.Target
}

func (r row) verdict() string {
	switch {
	case r.Target == 0 && !strings.Contains(r.What, "idle CPU"):
		return ""
	case r.ok():
		return "ok"
	default:
		return "miss"
	}
}

// contended is how much others may take before a row counts as disturbed.
const contended = 0.3

func (b *bench) add(r row) { b.rows = append(b.rows, r) }

func printJSON(w io.Writer, rows []row) error {
	return json.MarshalWrite(w, struct {
		Rows []row `json:"rows"`
	}{rows}, json.Deterministic(true), jsontext.WithIndent("  "))
}

func printTable(w io.Writer, rows []row) error {
	out := "| # | measure | figure | n | limit of the machine | ratio | target | |\n|---|---|---|---|---|---|---|---|\n"
	for _, r := range rows {
		limit, ratio, target := "", "", ""
		if r.Limit > 0 {
			limit = fmt.Sprintf("%s %s (%s)", short(r.Limit), r.Unit, r.Of)
			ratio = short(r.Figure / r.Limit)
		}
		if r.Target > 0 || r.verdict() != "" {
			sign := "<="
			if r.AtLeast {
				sign = ">="
			}
			target = sign + " " + short(r.Target)
		}
		mark := ""
		if r.Foreign > contended {
			mark = fmt.Sprintf(" ~%.1f", r.Foreign)
		}
		out += fmt.Sprintf("| %s | %s | %s %s | %d | %s | %s | %s | %s%s |\n", r.ID, r.What, short(r.Figure), r.Unit, r.N, limit, ratio, target, r.verdict(), mark)
	}
	_, err := io.WriteString(w, out)
	return err
}

// short writes three digits that count.
func short(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100 || v <= -100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
}

// quantile of the values, which it does not change.
func quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return s[int(p*float64(len(s)-1)+0.5)]
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// mean is for what comes in bursts, such as copying the log into the database.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

// profiled runs f under a CPU profile of this process, if a directory is named.
func profiled(dir, name string, f func() error) error {
	if dir == "" {
		return f()
	}
	file, err := os.Create(filepath.Join(dir, name+".pprof"))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return f()
}
