package task

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/plugins/internal/toolbox/internal/world"
	"github.com/merit-rl/merit/sdk/plugin/random"
)

// drawer draws one attempt at a task.
type drawer struct {
	*Config
	rng   random.Source
	world *world.World
	taken map[string]bool // what a goal is about already
}

func (d *drawer) chance(share float64) bool { return float64(d.rng.Next()>>11)*0x1p-53 < share }

func pick[T any](d *drawer, all []T) T { return all[d.rng.Below(len(all))] }

// id is one of a prefix that no other thing has.
func (d *drawer) id(prefix string) string {
	for {
		id := prefix + "-" + strconv.Itoa(100+d.rng.Below(900))
		if !d.taken[id] {
			d.taken[id] = true
			return id
		}
	}
}

// populate draws the world.
func (d *drawer) populate() {
	w := &world.World{}
	d.world = w
	for _, name := range d.Menu.People {
		w.Contacts = append(w.Contacts, world.Contact{
			ID: d.id("ct"), Name: name, Email: strings.ToLower(name) + "@old.example", Phone: "+49 30 " + strconv.Itoa(100000+d.rng.Below(900000)),
		})
	}
	for _, title := range d.Menu.Titles {
		e := world.Event{ID: d.id("ev"), Title: title, Attendees: []string{}}
		for e.Day == "" || w.Taken(e.Day, e.Hour) != "" {
			e.Day, e.Hour = pick(d, world.Days), world.FirstHour+d.rng.Below(world.LastHour-world.FirstHour+1)
		}
		w.Events = append(w.Events, e)
	}
	for _, item := range d.Menu.Items {
		o := world.Order{ID: d.id("or"), Item: item, Quantity: pick(d, d.Menu.Quantities), Status: "open"}
		if d.chance(0.2) {
			o.Status = "shipped"
		}
		w.Orders = append(w.Orders, o)
	}
	for _, title := range d.Menu.Notes {
		w.Notes = append(w.Notes, world.Note{ID: d.id("nt"), Title: title, Text: "About " + strings.ToLower(title) + ".", Pinned: d.chance(0.3)})
	}
	for _, room := range world.Rooms {
		w.Thermostats = append(w.Thermostats, world.Thermostat{Room: room, Temperature: pick(d, d.Menu.Temperatures), Mode: pick(d, world.Modes)})
	}
}

// goals draws a world and goals that need as many calls together as the
// configuration says; nil if the draw led nowhere.
func (d *drawer) goals() []Goal {
	d.populate()
	left := d.Calls[0] + d.rng.Below(d.Calls[1]-d.Calls[0]+1)
	var goals []Goal
	for tries := 0; left > 0; tries++ {
		if tries == 40 {
			return nil
		}
		g := Goal{Kind: pick(d, d.Kinds)}
		about, ok := d.fill(&g)
		if !ok || g.Cost() > left || slices.ContainsFunc(about, func(s string) bool { return d.taken[s] }) {
			continue
		}
		for _, s := range about {
			d.taken[s] = true
		}
		goals, left = append(goals, g), left-g.Cost()
	}
	return goals
}

// fill draws what the goal is about and returns all that no other goal may
// touch; false if that is not to be had in this world, or is there already.
func (d *drawer) fill(g *Goal) (about []string, ok bool) {
	w := d.world
	switch g.Kind {
	case SetTemperature:
		t := pick(d, w.Thermostats)
		g.Target, g.Temperature = t.Room, pick(d, d.Menu.Temperatures)
		return []string{"room " + t.Room}, g.Temperature != t.Temperature
	case CopyTemperature:
		to, from := pick(d, w.Thermostats), pick(d, w.Thermostats)
		g.Target, g.From = to.Room, from.Room
		return []string{"room " + to.Room, "room " + from.Room}, to.Temperature != from.Temperature
	case AddNote:
		g.Target, g.Pinned = pick(d, d.Menu.New), d.chance(0.5)
		return []string{"new note " + g.Target}, true
	case DeleteNote:
		n := pick(d, w.Notes)
		d.name(g, n.Title, n.ID)
		return []string{"note " + g.Target}, true
	case CreateEvent:
		g.Target = pick(d, d.Menu.New)
		if d.chance(0.5) {
			g.Guest = pick(d, w.Contacts).Name
		}
		return append(d.when(g), "new event "+g.Target), w.Taken(g.Day, g.Hour) == ""
	case MoveEvent:
		e := pick(d, w.Events)
		d.name(g, e.Title, e.ID)
		return append(d.when(g), "event "+g.Target), w.Taken(g.Day, g.Hour) == ""
	case CancelEvent:
		e := pick(d, w.Events)
		d.name(g, e.Title, e.ID)
		return []string{"event " + g.Target}, true
	case UpdateContact:
		c := pick(d, w.Contacts)
		d.name(g, c.Name, c.ID)
		g.Email = strings.ToLower(c.Name) + "@" + pick(d, d.Menu.Domains)
		return []string{"contact " + g.Target}, true
	}
	o := pick(d, w.Orders)
	d.name(g, o.Item, o.ID)
	if g.Kind == ChangeOrder {
		g.Quantity = pick(d, d.Menu.Quantities)
	}
	return []string{"order " + g.Target}, o.Status == "open" && g.Quantity != o.Quantity
}

// when draws a day and an hour.
func (d *drawer) when(g *Goal) []string {
	g.Day, g.Hour = pick(d, world.Days), pick(d, d.Menu.Hours)
	return []string{"time " + g.Day + strconv.Itoa(g.Hour)}
}

// name says what a goal is about, sometimes by an id, too.
func (d *drawer) name(g *Goal, target, id string) {
	if g.Target = target; !d.chance(d.IDs) {
		return
	}
	if g.ID = id; d.chance(d.Stale) {
		g.ID, g.Stale = d.id(id[:2]), true
	}
}

// task puts faults into the world and works out what should come of it.
func (d *drawer) task(goals []Goal) *Task {
	t := &Task{Start: d.world, Goals: goals, Ordered: len(goals) > 1 && d.chance(d.Ordered)}
	want := t.Start.Clone()
	for i := range goals {
		g := &goals[i]
		id, temperature := "", 0.0
		if find, ok := g.Find(); ok {
			found := want.Apply(find)
			id = found.Found
			if s, ok := found.Value.(world.Thermostat); ok {
				temperature = s.Temperature
			}
		}
		r := want.Apply(g.Do(id, temperature))
		if r.Effect == nil {
			panic(fmt.Sprintf("toolbox: the goal %q has no effect: %s", g.Words(), r.JSON()))
		}
		t.Effects, t.Needed = append(t.Effects, *r.Effect), t.Needed+g.Cost()
	}
	t.Lines = t.Start.Lines()
	t.Change = world.Difference(t.Lines, want.Lines())
	for i := range goals {
		d.fault(t, &goals[i])
	}
	t.Text = request(goals, t.Ordered)
	return t
}

// fault lets a tool of a goal fail once, and locks its area.
func (d *drawer) fault(t *Task, g *Goal) {
	if d.chance(d.Flaky) {
		tool := g.Kind.Tool()
		if g.Cost() > 1 && d.chance(0.5) {
			tool = g.Kind.Finder()
		}
		if t.Start.Flaky[tool] == 0 {
			t.Start.Flaky[tool] = 1
			t.Needed++
		}
	}
	if area := g.Kind.Tool().Signature().Area; d.chance(d.Locked) && !t.Start.Locked[area] {
		t.Start.Locked[area] = true
		t.Needed++
	}
}
