// SPDX-License-Identifier: Apache-2.0

// Programs made and changed by syzkaller for some time, from a seed, on the kernel that this runs
// on, guided by the coverage that it reports by KCOV. Built in a copy of syzkaller by ./build.
//
// Each program is in LOG before it runs, so the last ones there are those a kernel message is due
// to. syzkaller's own syz-execprog runs the programs of such a file again.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/syzkaller/pkg/corpus"
	"github.com/google/syzkaller/pkg/flatrpc"
	"github.com/google/syzkaller/pkg/fuzzer"
	"github.com/google/syzkaller/pkg/fuzzer/queue"
	"github.com/google/syzkaller/pkg/mgrconfig"
	"github.com/google/syzkaller/pkg/rpcserver"
	"github.com/google/syzkaller/pkg/tool"
	"github.com/google/syzkaller/pkg/vminfo"
	"github.com/google/syzkaller/pkg/vminfo/features"
	"github.com/google/syzkaller/prog"
	_ "github.com/google/syzkaller/sys"
	"github.com/google/syzkaller/sys/targets"
)

var (
	executor = flag.String("executor", "", "syz-executor")
	seconds  = flag.Int("seconds", 60, "how long")
	seed     = flag.Int64("seed", 1, "of the random numbers")
	procs    = flag.Int("procs", 4, "programs at a time")
	slowdown = flag.Int("slowdown", 3, "factor of all time limits")
	seeds    = flag.String("seeds", "", "directory of programs to begin with")
	kept     = flag.String("kept", "", "directory for the programs that reached something new")
	played   = flag.String("corpus", "", "file for programs that replay.py can play")
	room     = flag.Int("room", 200000, "bytes of -corpus")
	logFile  = flag.String("log", "", "file for the programs, each before it runs")
)

// A kernel that crashes would leave nothing.
const saveEvery = 5 * time.Minute

type run struct {
	ctx    context.Context
	stop   func()
	target *prog.Target
	fuzzer *fuzzer.Fuzzer
	corpus *corpus.Corpus
	opts   flatrpc.ExecOpts
	begun  time.Time
	log    *os.File
	mu     sync.Mutex
	progs  []*prog.Prog

	programs, calls, failed atomic.Int64
}

// What syzkaller tries coverage with: by default mappings, which do not reach the module.
func openDevice(target *prog.Target) []*prog.Call {
	p, err := target.Deserialize([]byte(
		"openat$binder(AUTO, &AUTO='/dev/fuzz/binder\\x00', 0x2, AUTO)"), prog.Strict)
	if err != nil {
		tool.Fail(err)
	}
	return p.Calls
}

// Programs of a directory. One that does not fit the descriptions is an error.
func (r *run) load(dir string) []*prog.Prog {
	var progs []*prog.Prog
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tool.Fail(err)
		}
		for _, part := range bytes.Split(text, []byte("\n\n")) {
			p, err := r.target.Deserialize(part, prog.Strict)
			if err != nil {
				tool.Failf("%v: %v", file, err)
			}
			if len(p.Calls) != 0 {
				progs = append(progs, p)
			}
		}
	}
	return progs
}

func (r *run) machineChecked(found flatrpc.Feature, calls map[*prog.Syscall]bool) queue.Source {
	r.corpus = corpus.NewCorpus(r.ctx)
	r.opts.EnvFlags |= features.FeaturesToFlags(found, nil)
	r.fuzzer = fuzzer.NewFuzzer(r.ctx, &fuzzer.Config{
		Corpus:        r.corpus,
		Coverage:      true,
		Collide:       true,
		FetchRawCover: true,
		EnabledCalls:  calls,
	}, rand.New(rand.NewSource(*seed)), r.target)
	var candidates []fuzzer.Candidate
	for _, p := range r.progs {
		candidates = append(candidates, fuzzer.Candidate{
			Prog:  p,
			Flags: fuzzer.ProgMinimized,
		})
	}
	r.fuzzer.AddCandidates(candidates)
	r.begun = time.Now()
	fmt.Printf("fuzz: %d calls enabled, %d programs to begin with, features %v\n",
		len(calls), len(r.progs), found)
	go r.reportUntilOver()
	return queue.DefaultOpts(r, r.opts)
}

func (r *run) reportUntilOver() {
	saved := time.Now()
	for time.Since(r.begun) < time.Duration(*seconds)*time.Second {
		time.Sleep(time.Duration(min(*seconds, 20)) * time.Second)
		r.report("after")
		if time.Since(saved) > saveEvery {
			r.save()
			saved = time.Now()
		}
	}
	r.stop()
}

func (r *run) Next() *queue.Request {
	req := r.fuzzer.Next()
	if req.Prog == nil {
		return req
	}
	if r.log != nil {
		text := append(req.Prog.Serialize(), '\n')
		r.mu.Lock()
		r.log.Write(text)
		r.mu.Unlock()
	}
	req.OnDone(r.done)
	return req
}

func (r *run) done(req *queue.Request, res *queue.Result) bool {
	r.programs.Add(1)
	if res.Info == nil {
		r.failed.Add(1)
		return true
	}
	for _, call := range res.Info.Calls {
		if call.Flags&flatrpc.CallFlagExecuted != 0 {
			r.calls.Add(1)
		}
	}
	return true
}

func (r *run) report(what string) {
	fmt.Printf("fuzz: %s %.0f s: %d programs, %d calls, %d programs not executed, signal %d, "+
		"%d programs kept, %d basic blocks covered\n", what, time.Since(r.begun).Seconds(),
		r.programs.Load(), r.calls.Load(), r.failed.Load(), r.corpus.StatSignal.Val(),
		r.corpus.StatProgs.Val(), r.corpus.StatCover.Val())
}

func write(name string, text []byte) {
	if err := os.WriteFile(name, text, 0644); err != nil {
		tool.Fail(err)
	}
}

func (r *run) save() {
	if *kept != "" {
		for i, p := range r.corpus.Programs() {
			write(filepath.Join(*kept, fmt.Sprintf("%04d", i)), p.Serialize())
		}
	}
	if *played != "" {
		programs := choose(r.corpus.Items(), *room)
		fmt.Printf("fuzz: %d programs in %v\n", len(programs), *played)
		write(*played, []byte(head+strings.Join(programs, "\n")))
	}
}

func main() {
	flag.Parse()
	// Or else syzkaller tries the flags of compilers that it finds, for minutes in a guest.
	targets.List["linux"]["amd64"].BrokenCompiler = "not used"
	target, err := prog.GetTarget("linux", "amd64")
	if err != nil {
		tool.Fail(err)
	}
	target.MakeDataMmap = func() []*prog.Call { return openDevice(target) }
	calls, err := mgrconfig.ParseEnabledSyscalls(target, nil, nil, mgrconfig.AnyDescriptions)
	if err != nil {
		tool.Fail(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &run{ctx: ctx, target: target}
	r.progs = r.load(*seeds)
	r.opts = flatrpc.ExecOpts{
		EnvFlags:  flatrpc.ExecEnvSandboxNone | flatrpc.ExecEnvSignal,
		ExecFlags: flatrpc.ExecFlagThreaded | flatrpc.ExecFlagDedupCover,
	}
	if *logFile != "" {
		if r.log, err = os.Create(*logFile); err != nil {
			tool.Fail(err)
		}
	}
	r.stop = stop
	err = rpcserver.RunLocal(ctx, &rpcserver.LocalConfig{
		Config: rpcserver.Config{
			Config: vminfo.Config{
				Target:   target,
				Features: flatrpc.FeatureSandboxNone | flatrpc.FeatureCoverage,
				Syscalls: calls,
				Cover:    true,
				Sandbox:  flatrpc.ExecEnvSandboxNone,
			},
			VMArch: target.Arch, Procs: *procs, Slowdown: *slowdown,
		},
		Executor:       *executor,
		MachineChecked: r.machineChecked,
		OutputWriter:   os.Stderr,
	})
	if err != nil {
		tool.Fail(err)
	}
	if r.fuzzer == nil {
		tool.Failf("syz-executor was not ready in time")
	}
	r.report("in")
	r.save()
}
