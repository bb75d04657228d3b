package core

import (
	"slices"
	"testing"
)

// permission is the minimum that an operation on an agent requires: grant, capability of the plan, scope of the
// credential.
type permission struct {
	grant      Grant
	capability Capability
	scope      Scope
	metered    bool
}

// permissions repeats the required access of every operation on an agent by hand, to catch a trait that is changed in
// the contract by mistake.
var permissions = func() map[Operation]permission {
	all := map[Operation]permission{
		OpSearch:               {GrantViewer, CapSearch, ScopeAgents, true},
		OpSearchBatch:          {GrantViewer, CapSearch, ScopeAgents, true},
		OpSendMessage:          {GrantUser, CapChat, ScopeAgents, true},
		OpListSimilarDocuments: {GrantViewer, CapSearch, ScopeAgents, true},
		OpCheckText:            {GrantUser, CapChat, ScopeAgents, true},
		OpResearch:             {GrantUser, CapResearch, ScopeAgents, true},
	}
	add := func(p permission, operations ...Operation) {
		for _, op := range operations {
			all[op] = p
		}
	}
	add(permission{GrantViewer, "", ScopeAgents, false},
		OpGetAgent, OpGetDocument, OpListSources, OpGetSource, OpListImports, OpStreamImports, OpListFiles,
		OpListThreads, OpListDocuments, OpDownloadOriginal, OpGetMessage, OpGetMemory, OpGetFavourite,
		OpGetThread, OpListMessages, OpExportThread, OpStreamEvents, OpListMemories, OpListFavourites, OpLookupFavourites,
		OpExportFavourites)
	add(permission{GrantUser, CapChat, ScopeAgents, false},
		OpCreateThread, OpRenameThread, OpDeleteThread, OpCancelTurn, OpGiveFeedback, OpRemoveFeedback,
		OpDeleteThreads, OpSelectMessage, OpDeleteMessage)
	add(permission{GrantViewer, "", ScopeAccount, false}, OpListThreadLinks)
	add(permission{GrantUser, CapShare, ScopeAccount, false}, OpCreateThreadLink)
	add(permission{GrantViewer, "", ScopeAgents, false}, OpListSavedSearches)
	add(permission{GrantUser, CapSearch, ScopeAgents, false}, OpSaveSearch, OpChangeSavedSearch, OpDeleteSavedSearch)
	add(permission{GrantViewer, "", ScopeAgents, false}, OpListBin)
	add(permission{GrantUser, "", ScopeAgents, false}, OpRestoreBinItem, OpDeleteBinItem, OpEmptyBin)
	add(permission{GrantUser, CapMemories, ScopeAgents, false},
		OpAddMemory, OpChangeMemory, OpDeleteMemory, OpDeleteMemories, OpConfirmMemory, OpDismissMemory)
	add(permission{GrantUser, CapFavourites, ScopeAgents, false},
		OpSaveFavourite, OpChangeFavourite, OpDeleteFavourite, OpDeleteFavourites, OpImportFavourites,
		OpImportFavouriteFile)
	add(permission{GrantManager, CapManage, ScopeManage, false},
		OpChangeAgent, OpCreateSource, OpChangeSource, OpDeleteSource, OpSyncSource, OpUploadFiles, OpDeleteFile,
		OpListUploads, OpCreateUpload, OpAppendUpload, OpCancelUpload, OpPutDocuments, OpChangeDocument, OpDeleteDocument,
		OpDeleteDocuments, OpRereadDocuments)
	add(permission{GrantManager, CapFavourites, ScopeManage, false}, OpWriteFavouritesToZotero)
	add(permission{GrantOwner, CapManage, ScopeManage, false}, OpDeleteAgent, OpListGrants, OpPutGrant, OpDeleteGrant)
	return all
}()

// TestPermissions covers all combinations of role, grant, kind of credential, scopes, capability and operation. Roles
// give no access to agents of other users: administrators cannot read their content.
func TestPermissions(t *testing.T) {
	t.Parallel()
	cells := 0
	for op, needs := range permissions {
		for _, role := range []Role{RoleOwner, RoleAdmin, RoleMember} {
			for _, kind := range []CredentialKind{
				CredentialKey, CredentialMinted, CredentialOAuth, CredentialSession, CredentialOperator, "badge",
			} {
				for grant := GrantNone; grant <= GrantOwner; grant++ {
					for _, lacking := range append(AllCapabilities(), "") {
						for _, scopes := range [][]Scope{nil, {ScopeAgents}, {ScopeManage}, {ScopeAgents, ScopeManage}} {
							for _, plan := range []string{PlanOpen, PlanNone} {
								a := Actor{UserID: "u", Role: role, Plan: plan, Credential: kind, Scopes: scopes, Lacks: SetOf(lacking)}
								want := ""
								switch {
								case kind == "badge" || !slices.Contains(scopes, needs.scope):
									want = "insufficient_scope"
								case needs.capability != "" && needs.capability == lacking:
									want = "capability_disabled"
								case grant == GrantNone:
									want = "not_found"
								case grant < needs.grant:
									want = "forbidden"
								case needs.metered && plan == PlanNone:
									want = "no_subscription"
								}
								got := ""
								if err := a.AllowAgent(op, "agt", grant); err != nil {
									got = AsError(err).Code
								}
								if cells++; got != want {
									t.Errorf("%s of a %s by %s with %v, grant %q, plan %s without %q: %q, want %q",
										op, role, kind, scopes, grant, plan, lacking, got, want)
								}
							}
						}
					}
				}
			}
		}
	}
	if cells != len(permissions)*3*6*5*9*4*2 {
		t.Errorf("the table has %d cells", cells)
	}
	for _, op := range append(Operations(), OpResearch) {
		r, _ := op.Rule()
		if _, listed := permissions[op]; listed != r.OnAgent {
			t.Errorf("%s: in the table %v, on an agent %v", op, listed, r.OnAgent)
		}
	}
}

func TestCapabilitiesFollowTheGrant(t *testing.T) {
	t.Parallel()
	a := Actor{
		UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: []Scope{ScopeAgents, ScopeManage, ScopeAccount},
	}
	for grant, want := range map[Grant][]Capability{
		GrantNone:    {},
		GrantViewer:  {CapSearch},
		GrantUser:    {CapSearch, CapChat, CapResearch, CapMemories, CapFavourites, CapShare},
		GrantManager: capabilities,
		GrantOwner:   capabilities,
	} {
		if got := a.CapabilitiesOn(grant); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", grant, got, want)
		}
	}
	for _, word := range []string{"", "owner", "Viewer", "nothing"} {
		if g, ok := GrantOf(word); ok || g != GrantNone {
			t.Errorf("%q is taken for %q", word, g)
		}
	}
}

func BenchmarkAllowAgent(b *testing.B) {
	a := Actor{
		UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: []Scope{ScopeAgents, ScopeManage},
		Agents: []string{"agt"},
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := a.AllowAgent(OpSendMessage, "agt", GrantUser); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAllowDoesNotAllocate(t *testing.T) {
	a := Actor{
		UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: []Scope{ScopeAgents, ScopeManage},
		Agents: []string{"agt"},
	}
	if n := testing.AllocsPerRun(100, func() { _ = a.AllowAgent(OpSendMessage, "agt", GrantUser) }); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}
