package core

import "slices"

// Area is a part of the API. Credentials are given access by area.
type Area string

// The areas, in display order.
const (
	AreaAgents     Area = "agents"
	AreaSearch     Area = "search"
	AreaChat       Area = "chat"
	AreaMemories   Area = "memories"
	AreaFavourites Area = "favourites"
	AreaWebhooks   Area = "webhooks"
	AreaManage     Area = "manage agents"
	AreaKeys       Area = "keys"
	AreaBilling    Area = "billing"
	AreaAccount    Area = "account"
	AreaAdmin      Area = "admin"
)

// agentAreas are the areas of working with agents, the only ones open to connected programs.
var agentAreas = []Area{AreaAgents, AreaSearch, AreaChat, AreaMemories, AreaFavourites, AreaWebhooks, AreaManage}

var areas = append(agentAreas[:len(agentAreas):len(agentAreas)], AreaKeys, AreaBilling, AreaAccount, AreaAdmin)

// Areas lists all areas.
func Areas() []Area { return slices.Clone(areas) }

// reach lists the areas that each kind of credential can have access to. Within them, the scopes of the credential
// decide. An unknown kind has access to nothing.
var reach = map[CredentialKind][]Area{
	CredentialKey:      areas,
	CredentialMinted:   agentAreas,
	CredentialOAuth:    agentAreas,
	CredentialSession:  areas,
	CredentialOperator: areas,
}

// areaScopes maps each area to the scope that it requires.
var areaScopes = map[Area]Scope{
	AreaAgents:     ScopeAgents,
	AreaSearch:     ScopeAgents,
	AreaChat:       ScopeAgents,
	AreaMemories:   ScopeAgents,
	AreaFavourites: ScopeAgents,
	AreaWebhooks:   ScopeAgents,
	AreaManage:     ScopeManage,
	AreaKeys:       ScopeAccount,
	AreaBilling:    ScopeAccount,
	AreaAccount:    ScopeAccount,
	AreaAdmin:      ScopeAdmin,
}

// Reach returns the scope that a credential of this kind needs for an area, and whether such a credential can have
// access at all.
func Reach(kind CredentialKind, area Area) (Scope, bool) {
	scope, known := areaScopes[area]
	return scope, known && slices.Contains(reach[kind], area)
}

// reaches reports whether the credential covers an area. Webhooks are covered by the scope of the account too: that
// manages all of them, other credentials those that they created.
func (a Actor) reaches(area Area) bool {
	scope, possible := Reach(a.Credential, area)
	return possible && slices.Contains(a.Scopes, scope) || area == AreaWebhooks && a.reaches(AreaAccount)
}
