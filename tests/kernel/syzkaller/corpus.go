// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/google/syzkaller/pkg/corpus"
	"github.com/google/syzkaller/pkg/signal"
	"github.com/google/syzkaller/prog"
)

// A program as lines for replay.py, which has the format.
type lines struct {
	strings.Builder
	base uint64 // of the program's memory
	// The line that writes memory: where it ends, and bytes that are not yet in it.
	end   uint64
	bytes []byte
}

const head = "# SPDX-License-Identifier: GPL-2.0\n# Programs for replay.py, which fuzz.go wrote\n"

// The memory of a program.
const memory = 16 << 20

func (l *lines) number(value uint64) string {
	if value-l.base < memory {
		return fmt.Sprintf("@%x", value-l.base)
	}
	return fmt.Sprintf("%x", value)
}

func (l *lines) copyin(in prog.ExecCopyin) {
	if in.Addr != l.end {
		l.flush()
		fmt.Fprintf(l, "\n%s", l.number(in.Addr))
	}
	l.end = in.Addr
	switch a := in.Arg.(type) {
	case prog.ExecArgConst:
		if a.Value-l.base < memory {
			l.flush()
			fmt.Fprintf(l, " %s", l.number(a.Value))
			l.end += 8
			return
		}
		little := binary.LittleEndian.AppendUint64(nil, a.Value)
		l.bytes = append(l.bytes, little[:a.Size]...)
		l.end += a.Size
	case prog.ExecArgResult:
		l.flush()
		fmt.Fprintf(l, " r%x/%x:%x", a.Index, a.Size, a.Default)
		l.end += a.Size
	case prog.ExecArgData:
		l.end += uint64(len(a.Data))
		// The directory that it is played in has these.
		if path, ok := bytes.CutPrefix(a.Data, []byte("/dev/")); ok {
			text, _, _ := bytes.Cut(path, []byte{0})
			l.flush()
			fmt.Fprintf(l, " \".////%s\"", text)
			a.Data = path[len(text):]
		}
		l.bytes = append(l.bytes, a.Data...)
	default:
		panic(fmt.Sprintf("memory of type %T", a))
	}
}

// Bytes, and zeros as their number.
func (l *lines) flush() {
	for data := l.bytes; len(data) != 0; {
		rest := bytes.TrimLeft(data, "\x00")
		if zeros := len(data) - len(rest); zeros > 1 {
			fmt.Fprintf(l, " *%x", zeros)
			data = rest
			continue
		}
		size := bytes.Index(data[1:], []byte{0, 0}) + 1
		if size == 0 {
			size = len(data)
		}
		fmt.Fprintf(l, " %x", data[:size])
		data = data[size:]
	}
	l.bytes = nil
}

func (l *lines) call(c prog.ExecCall) {
	for _, in := range c.Copyin {
		l.copyin(in)
	}
	l.flush()
	for _, out := range c.Copyout {
		fmt.Fprintf(l, "\nr%x < %x %x", out.Index, out.Addr-l.base, out.Size)
	}
	l.WriteString("\n")
	if c.Index != prog.ExecNoCopyout {
		fmt.Fprintf(l, "r%x = ", c.Index)
	}
	l.WriteString(c.Meta.CallName)
	for _, arg := range c.Args {
		switch a := arg.(type) {
		case prog.ExecArgConst:
			fmt.Fprintf(l, " %s", l.number(a.Value))
		case prog.ExecArgResult:
			fmt.Fprintf(l, " r%x:%x", a.Index, a.Default)
		}
	}
	l.end = 0
}

func textOf(p *prog.Prog) (string, error) {
	bytes, err := p.SerializeForExec()
	if err != nil {
		return "", err
	}
	exec, err := p.Target.DeserializeExec(bytes, nil)
	if err != nil {
		return "", err
	}
	l := lines{base: p.Target.DataOffset}
	for _, c := range exec.Calls {
		l.call(c)
	}
	return strings.TrimPrefix(l.String(), "\n"), nil
}

// The programs that reach the most in so many bytes: always the one next that reaches the most new
// for its size.
func choose(items []*corpus.Item, room int) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		text, err := textOf(item.Prog)
		if err == nil {
			texts[i] = text + "\n"
		}
	}
	var reached signal.Signal
	var chosen []string
	worth := make([]float64, len(items)) // it only falls
	for i := range items {
		worth[i] = math.Inf(1)
	}
	for {
		best, most := -1, 0.0
		for i, item := range items {
			if worth[i] <= most || texts[i] == "" || len(texts[i]) > room {
				continue
			}
			gain := len(reached.DiffRaw(item.Signal.ToRaw(), 0))
			worth[i] = float64(gain) / float64(len(texts[i]))
			if worth[i] > most {
				best, most = i, worth[i]
			}
		}
		if best < 0 {
			return chosen
		}
		chosen = append(chosen, texts[best])
		room -= len(texts[best])
		texts[best] = ""
		reached.Merge(items[best].Signal)
	}
}
