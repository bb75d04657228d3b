package httpapi_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
)

func TestSharing(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"AgentIsShared", agentShared},
		{"InvitedAgentIsInvisibleUntilAccepted", invitedAgentInvisible},
		{"InvitationIsAnsweredWithASessionOnly", answeredBySession},
		{"GrantsDoNotRevealAccounts", grantsHideAccounts},
		{"OnlyAdministratorsShareWithEverybody", everybodyByAdmins},
		{"SharesAreInTheAuditListsOfBothAccounts", sharesAreAudited},
	})
}

const invitations = "/api/account/invitations"

// accept accepts an invitation with a browser session.
func (p *testUser) accept(agentID string) {
	p.t.Helper()
	p.signedIn().send("POST", invitations+"/"+agentID+"/accept", "").ok(p.t)
}

// auditEvents returns the events of the account's audit list, oldest first.
func (p *testUser) auditEvents(of ...string) []string {
	p.t.Helper()
	events := p.accountKey().get("/api/account/audit?limit=200").ok(p.t).list("events", "event")
	events = slices.DeleteFunc(events, func(e string) bool { return !slices.Contains(of, e) })
	slices.Reverse(events)
	return events
}

func sharesAreAudited(t *testing.T, w *testServer) {
	owner, other, decliner := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	const shared, unshared = "agent_shared", "agent_unshared"
	check := func(step string, p *testUser, want ...string) {
		t.Helper()
		if got := p.auditEvents(shared, unshared); !slices.Equal(got, want) {
			t.Errorf("%s: events %v, want %v", step, got, want)
		}
	}
	share := owner.at("/grants/" + other.id)
	owner.send("PUT", share, `{"grant": "viewer"}`).ok(t)
	check("owner after the invitation", owner, shared)
	check("recipient after the invitation", other)
	other.accept(owner.agent)
	check("owner after the acceptance", owner, shared, shared)
	check("recipient after the acceptance", other, shared)
	owner.send("DELETE", share, "").ok(t)
	check("owner after the revocation", owner, shared, shared, unshared)
	check("recipient after the revocation", other, shared, unshared)
	owner.send("PUT", share, `{"grant": "user"}`).ok(t)
	other.accept(owner.agent)
	other.signedIn().send("DELETE", invitations+"/"+owner.agent, "").ok(t)
	check("owner after the recipient left", owner, shared, shared, unshared, shared, shared, unshared)
	check("recipient after they left", other, shared, unshared, shared, unshared)
	owner.send("PUT", owner.at("/grants/"+decliner.id), `{"grant": "user"}`).ok(t)
	decliner.signedIn().send("DELETE", invitations+"/"+owner.agent, "").ok(t)
	check("owner after a decline", owner, shared, shared, unshared, shared, shared, unshared, shared)
	check("recipient after a decline", decliner)
}

func agentShared(t *testing.T, w *testServer) {
	owner, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	other.agent = owner.agent
	other.get(other.at("")).refused(t, 404, "not_found")
	share := owner.at("/grants/" + other.id)
	owner.send("PUT", share, `{"grant": "viewer"}`).ok(t)
	other.get(other.at("")).refused(t, 404, "not_found")
	other.accept(owner.agent)
	if got := other.capabilities(); got != "search" {
		t.Errorf("a viewer has %s", got)
	}
	other.post(other.at("/threads"), object{}).refused(t, 403, "forbidden")
	owner.send("PUT", share, `{"grant": "user"}`).ok(t) // at once, because the share was accepted
	thread := other.newThread("Mine")
	owner.get(owner.at("/threads/"+thread)).refused(t, 404, "not_found")
	other.send("PATCH", other.at(""), `{"name": "x"}`).refused(t, 403, "forbidden")
	other.send("DELETE", other.at(""), "").refused(t, 403, "forbidden")
	other.get(other.at("/grants")).refused(t, 403, "forbidden")
	grants := owner.get(owner.at("/grants")).ok(t)
	if !slices.Equal(grants.list("grants", "state"), []string{"accepted"}) ||
		!slices.Equal(grants.list("grants", "email"), []string{other.id + "@example.org"}) {
		t.Errorf("the grants are %s", grants.body)
	}
	if a := other.get(other.at("")).ok(t); a.str("agent", "access") != "user" || a.value("agent", "shared") != true ||
		a.str("agent", "owner") != "P" {
		t.Errorf("the agent is to its user: %s", a.body)
	}
	if a := owner.get(owner.at("")).ok(t); a.str("agent", "access") != "owner" || a.value("agent", "shared") != false ||
		a.value("agent", "owner") != nil {
		t.Errorf("the agent is to its owner: %s", a.body)
	}
	owner.send("DELETE", share, "").ok(t)
	other.get(other.at("/threads/"+thread)).refused(t, 404, "not_found")
	other.post(other.at("/threads"), object{}).refused(t, 404, "not_found")
	byAddress := owner.at("/grants/" + strings.ToUpper(other.id+"@example.org"))
	owner.send("PUT", byAddress, `{"grant": "viewer"}`).ok(t)
	other.accept(owner.agent)
	other.get(other.at("")).ok(t)
	owner.send("DELETE", byAddress, "").ok(t)
	other.get(other.at("")).refused(t, 404, "not_found")
	owner.send("PUT", owner.at("/grants/"+owner.id+"@example.org"),
		`{"grant": "viewer"}`).refused(t, 400, "invalid_request")
}

// invitedAgentInvisible sends every operation on an agent to which the caller is invited. The replies must equal those for
// an agent that does not exist.
func invitedAgentInvisible(t *testing.T, w *testServer) {
	owner, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	own := other.agent
	thread := owner.newThread("T")
	owner.send("PUT", owner.at("/grants/"+other.id), `{"grant": "manager"}`).ok(t)
	other.agent = owner.agent
	for _, path := range other.everyGet(thread) {
		if strings.HasPrefix(path, other.at("")) {
			other.get(path).refused(t, 404, "not_found")
		}
	}
	other.post(other.at("/search"), object{"query": "x"}).refused(t, 404, "not_found")
	other.send("PATCH", other.at(""), `{"name": "x"}`).refused(t, 404, "not_found")
	for _, reply := range []answer{other.get("/api/agents").ok(t), other.signedIn().get("/api/agents").ok(t)} {
		if got := reply.list("agents", "id"); !slices.Equal(got, []string{own}) {
			t.Errorf("agents before the invitation is accepted: %v", got)
		}
	}
	list := other.signedIn().get(invitations).ok(t)
	if !slices.Equal(list.list("invitations", "agentId"), []string{owner.agent}) ||
		!slices.Equal(list.list("invitations", "grant"), []string{"manager"}) ||
		!strings.Contains(string(list.body), `"invitedBy":{"name":"P","email":"`+owner.id+`@example.org"}`) {
		t.Errorf("the invitations are %s", list.body)
	}
	other.accept(owner.agent)
	if got := other.get("/api/agents").ok(t).list("agents", "id"); !slices.Equal(got, []string{own, owner.agent}) {
		t.Errorf("agents after the invitation was accepted: %v, want the own one first", got)
	}
	if got := other.signedIn().get(invitations).ok(t).list("invitations", "agentId"); len(got) != 0 {
		t.Errorf("an accepted invitation is still open: %v", got)
	}
	other.signedIn().send("DELETE", invitations+"/"+owner.agent, "").ok(t)
	other.get(other.at("")).refused(t, 404, "not_found")
	other.signedIn().send("DELETE", invitations+"/"+owner.agent, "").refused(t, 404, "not_found")
}

func answeredBySession(t *testing.T, w *testServer) {
	owner, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	owner.send("PUT", owner.at("/grants/"+other.id), `{"grant": "user"}`).ok(t)
	one := invitations + "/" + owner.agent
	for name, c := range map[string]struct {
		who          *testUser
		read, answer string
	}{
		"a key for agents":             {other, "insufficient_scope", "insufficient_scope"},
		"a key with the scope account": {other.accountKey(), "", "session_required"},
		"a connected program":          {other.connect("editor"), "insufficient_scope", "insufficient_scope"},
	} {
		t.Run(name, func(t *testing.T) {
			if read := c.who.get(invitations); c.read == "" {
				read.ok(t)
			} else {
				read.refused(t, 403, c.read)
			}
			c.who.send("POST", one+"/accept", "").refused(t, 403, c.answer)
			c.who.send("DELETE", one, "").refused(t, 403, c.answer)
		})
	}
	other.agent = owner.agent
	other.get(other.at("")).refused(t, 404, "not_found")
	other.signedIn().send("DELETE", one, "").ok(t)
	other.signedIn().send("POST", one+"/accept", "").refused(t, 404, "not_found")
}

// grantsHideAccounts compares complete replies for invitees in every state. They must equal the reply for an address
// without an account.
func grantsHideAccounts(t *testing.T, w *testServer) {
	owner := w.user(t, core.PlanOpen)
	member, disabled, decliner := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	if err := w.db.DisableUser(t.Context(), disabled.id, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	owner.send("PUT", owner.at("/grants/"+decliner.id), `{"grant": "user"}`).ok(t)
	decliner.signedIn().send("DELETE", invitations+"/"+owner.agent, "").ok(t)
	owner.send("DELETE", owner.at("/grants/"+decliner.id), "").ok(t)

	nobody := strings.Replace(member.id, "usr_", "nob_", 1)
	address := func(id string) string { return id + "@example.org" }
	unknownID := core.NewID(core.PrefixUser)
	for name, pair := range map[string][2]string{
		"a member's address":      {address(member.id), address(nobody)},
		"a disabled account's":    {address(disabled.id), address(nobody)},
		"a declined invitation's": {address(decliner.id), address(nobody)},
		"in capitals":             {strings.ToUpper(address(member.id)), address(nobody)},
		"a member's id":           {member.id, unknownID},
		"a disabled account's id": {disabled.id, unknownID},
	} {
		known, unknown := owner.seen(pair[0]), owner.seen(pair[1])
		for i := range known {
			if known[i] != unknown[i] {
				t.Errorf("%s:\n%s\nand for an unknown address:\n%s", name, known[i], unknown[i])
			}
		}
	}
	// Only accepting the invitation changes the reply.
	owner.send("PUT", owner.at("/grants/"+address(member.id)), `{"grant": "viewer"}`).ok(t)
	member.accept(owner.agent)
	if got := owner.get(owner.at("/grants")).ok(t).list("grants", "name"); !slices.Equal(got, []string{"P"}) {
		t.Errorf("names after the invitation was accepted: %v", got)
	}
}

// seen returns all replies that an owner gets for an invitee, from inviting to withdrawing, without the invitee's
// name and without request ids and times.
func (p *testUser) seen(invitee string) (replies []string) {
	p.t.Helper()
	one := p.at("/grants/" + url.PathEscape(invitee))
	for _, c := range [][3]string{
		{"PUT", one, `{"grant": "viewer"}`},
		{"PUT", one, `{"grant": "manager"}`},
		{"GET", p.at("/grants"), ""},
		{"PUT", one, `{"grant": "owner"}`},
		{"DELETE", one, ""},
		{"DELETE", one, ""},
	} {
		a := p.send(c[0], c[1], c[2])
		var out strings.Builder
		fmt.Fprintln(&out, c[0], c[2], a.status)
		for _, name := range slices.Sorted(maps.Keys(a.header)) {
			if !slices.Contains([]string{"Date", "X-Request-Id", "Etag"}, name) {
				fmt.Fprintln(&out, name, a.header[name])
			}
		}
		text := strings.ReplaceAll(string(a.body), a.header.Get("X-Request-Id"), "REQUEST")
		out.WriteString(strings.ReplaceAll(text, strings.ToLower(invitee), "INVITEE"))
		replies = append(replies, out.String())
	}
	return replies
}

func everybodyByAdmins(t *testing.T, w *testServer) {
	owner, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	path := owner.at("/grants/everybody")
	owner.send("PUT", path, `{"grant": "user"}`).refused(t, 403, "insufficient_scope")
	owner.signedIn().send("PUT", path, `{"grant": "user"}`).refused(t, 403, "insufficient_scope")
	admin := w.admin(t)
	admin.agent = admin.newAgent("For all")
	admin.send("PUT", admin.at("/grants/everybody"), `{"grant": "user"}`).ok(t)
	other.agent = admin.agent
	other.newThread("Again")
	if got := other.get(other.at("")).ok(t); got.value("agent", "shared") != true || got.str("agent", "owner") != "A" {
		t.Errorf("everybody sees %s", got.body)
	}
	other.signedIn().send("DELETE", invitations+"/"+admin.agent, "").refused(t, 404, "not_found")
	admin.send("DELETE", admin.at("/grants/everybody"), "").ok(t)
	other.get(other.at("")).refused(t, 404, "not_found")
}
