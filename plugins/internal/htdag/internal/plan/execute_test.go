package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/htdag/internal/request"
)

// asked is a request to build three things, of sizes 2, 1 and 4, of which the
// last is too large, behind a design and before a test.
func asked() *request.Task {
	leaf := func(kind request.Kind, size int) *request.Task {
		return &request.Task{Kind: kind, Size: size, Subject: -1}
	}
	large := leaf(request.Build, 4)
	large.Shape, large.Parts = request.Shape{Workers: 2}, []*request.Task{leaf(request.Build, 2), leaf(request.Build, 2)}
	t := &request.Task{Kind: request.Project, Size: 9, Shape: request.Shape{Workers: 3, Lead: true, Check: true}}
	t.Parts = []*request.Task{leaf(request.Design, 1), leaf(request.Build, 2), leaf(request.Build, 1), large, leaf(request.Test, 1)}
	for i, p := range append(t.Parts, large.Parts...) {
		p.Luck = request.Luck(1).Child(i)
	}
	return t
}

// of makes a plan for asked: the request split so, and its large part if it is
// to be.
func of(shape request.Shape, further bool) *Plan {
	p := New(asked(), Limits{Tasks: 40, Depth: 5})
	p.Split(p.Nodes[0], p.Shaped(request.Build, shape))
	for _, n := range p.Nodes {
		if further && n.Truth != nil && n.Truth.Size == 4 {
			p.Split(n, p.Shaped(request.Build, n.Truth.Shape))
		}
	}
	return p
}

// Promise: the right plan delivers everything, and its times are those of its
// critical path and of all its tasks, with what it takes to merge.
func TestRightPlan(t *testing.T) {
	p := Right(asked())
	o := p.Execute()
	require.Equal(t, of(request.Shape{Workers: 3, Lead: true, Check: true}, true).Execute(), o)
	takes := map[string]int{}
	sum := 0
	for _, n := range p.Nodes {
		if n.Open() {
			takes[n.ID] = n.takes()
			require.InDelta(t, 100*n.Truth.Size, takes[n.ID], float64(20*n.Truth.Size))
			sum += takes[n.ID]
		}
	}
	// t1 design, then t2, t3 and t4 = t6 beside t7, then t5 test.
	large := max(takes["t6"], takes["t7"]) + 2*perMerge
	path := takes["t1"] + max(takes["t2"], takes["t3"], large) + takes["t5"] + 5*perMerge
	require.Equal(t, Outcome{
		Success: true, Depth: 2, Subtasks: 7, Leaves: 6, Time: path, Work: sum + 7*perMerge, Delivered: 9, Size: 9,
	}, o)
	require.InDelta(t, 1-float64(path)/float64(sum+7*perMerge), o.Parallelism(), 1e-12)
}

// Promise: each mistake costs what the README says, and no more.
func TestMistakes(t *testing.T) {
	right := Right(asked()).Execute()

	slow := of(request.Shape{Workers: 3, Lead: true, Check: true, InOrder: true}, true).Execute()
	require.True(t, slow.Success, "what may run at once may also run in order")
	require.Greater(t, slow.Time, right.Time)
	require.Equal(t, right.Work, slow.Work)

	fewer := of(request.Shape{Workers: 2, Lead: true, Check: true}, true).Execute()
	require.False(t, fewer.Success)
	require.Equal(t, []int{1, 5}, []int{fewer.Missing, fewer.Delivered}, "the large part is missing")

	unprepared := of(request.Shape{Workers: 3, Check: true}, true).Execute()
	require.False(t, unprepared.Success)
	require.Equal(t, []int{1, 0, 8}, []int{unprepared.Missing, unprepared.Early, unprepared.Delivered})

	coarse := of(request.Shape{Workers: 3, Lead: true, Check: true}, false).Execute()
	require.Equal(t, []int{1, 1}, []int{coarse.Coarse, coarse.Depth})

	p := of(request.Shape{Workers: 3, Lead: true, Check: true}, true)
	p.Split(p.Find("t2"), p.Shaped(request.Build, request.Shape{Workers: 2}))
	pieces := p.Execute()
	require.Equal(t, []int{2, 2}, []int{pieces.Needless, pieces.Depth})
	require.Greater(t, pieces.Work, 0)

	other := New(asked(), Limits{Tasks: 40, Depth: 5})
	other.Split(other.Nodes[0], other.Shaped(request.Write, request.Shape{Workers: 2}))
	wrong := other.Execute()
	require.Equal(t, []int{5, 2, 0}, []int{wrong.Missing, wrong.Needless, wrong.Delivered}, "nobody asked for texts")
	require.False(t, wrong.Success)
}

// Promise: what begins before the things that it needs fails, also through
// others that do not wait; who waits through others is in time.
func TestEarly(t *testing.T) {
	for _, c := range []struct {
		after [5][]int // design, build, build, build, test
		early int
	}{
		{[5][]int{nil, {0}, {0}, {0}, {1, 2, 3}}, 0},
		{[5][]int{nil, {0}, {1}, {2}, {3}}, 0},
		{[5][]int{nil, nil, {0}, {0}, {1, 2, 3}}, 1},
		{[5][]int{nil, nil, nil, nil, nil}, 4},
		{[5][]int{nil, {0}, {0}, {0}, {1, 2}}, 1},
	} {
		p := New(asked(), Limits{Tasks: 40, Depth: 5})
		subtasks := p.Shaped(request.Build, request.Shape{Workers: 3, Lead: true, Check: true})
		for i := range subtasks {
			subtasks[i].After = c.after[i]
		}
		p.Split(p.Nodes[0], subtasks)
		o := p.Execute()
		require.Equal(t, c.early, o.Early, c.after)
		require.Zero(t, o.Missing)
		if c.early > 0 {
			require.False(t, o.Success)
		}
	}
}

// Promise: the right plan of any request goes well but for bad luck, is as deep
// as its structure, and takes the least work.
func TestRightPlanOfAny(t *testing.T) {
	const n = 500
	well := 0
	for seed := range uint64(n) {
		root := draw(t, seed)
		p := Right(root)
		o := p.Execute()
		require.Equal(t, []int{root.Depth(), 0, 0, 0, 0}, []int{o.Depth, o.Missing, o.Early, o.Coarse, o.Needless})
		require.Equal(t, root.Size, o.Size)
		require.Equal(t, o.Success, o.Delivered == o.Size)
		if o.Success {
			well++
		}
	}
	require.Greater(t, well, n*98/100)
}
