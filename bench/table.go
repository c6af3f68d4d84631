//go:build unix

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

// row is one figure of the table.
type row struct {
	ID      string  `json:"id"` // id of the row
	What    string  `json:"what"`
	Figure  float64 `json:"figure"`
	Unit    string  `json:"unit"`
	N       int     `json:"n"`                // samples
	Limit   float64 `json:"limit,omitzero"`   // the machine's own figure for the same work; 0 without one
	Of      string  `json:"of,omitzero"`      // description of the limit
	Target  float64 `json:"target,omitzero"`  // 0: none
	AtLeast bool    `json:"atLeast,omitzero"` // more is better
	Foreign float64 `json:"foreign"`          // cores used by other processes meanwhile
}

func (r row) meetsTarget() bool {
	if r.AtLeast {
		return r.Figure >= r.Target
	}
	return r.Figure <= r.Target
}

func (r row) verdictText() string {
	switch {
	case r.Target == 0 && !strings.Contains(r.What, "idle CPU"):
		return ""
	case r.meetsTarget():
		return "ok"
	default:
		return "miss"
	}
}

// contended is the number of cores that other processes may use before a row is marked.
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
			limit = fmt.Sprintf("%s %s (%s)", formatValue(r.Limit), r.Unit, r.Of)
			ratio = formatValue(r.Figure / r.Limit)
		}
		if r.Target > 0 || r.verdictText() != "" {
			sign := "<="
			if r.AtLeast {
				sign = ">="
			}
			target = sign + " " + formatValue(r.Target)
		}
		mark := ""
		if r.Foreign > contended {
			mark = fmt.Sprintf(" ~%.1f", r.Foreign)
		}
		out += fmt.Sprintf(
			"| %s | %s | %s %s | %d | %s | %s | %s | %s%s |\n",
			r.ID,
			r.What,
			formatValue(r.Figure),
			r.Unit,
			r.N,
			limit,
			ratio,
			target,
			r.verdictText(),
			mark,
		)
	}
	_, err := io.WriteString(w, out)
	return err
}

// formatValue formats v with three significant digits.
func formatValue(v float64) string {
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

// quantileOf returns a quantile of the values, which it does not change.
func quantileOf(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return s[int(p*float64(len(s)-1)+0.5)]
}

func medianOf(values []float64) float64 { return quantileOf(values, 0.5) }

// meanOf suits values that come in bursts, such as checkpoints of the database.
func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

// withProfile runs f with a CPU profile of this process if dir is not empty.
func withProfile(dir, name string, f func() error) error {
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
