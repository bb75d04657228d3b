package core

import "slices"

// Area is a part of what the service does. What a credential may do is decided area by area.
type Area string

// The areas, in the order in which they are shown.
const (
	AreaAgents     Area = "agents"
	AreaSearch     Area = "search"
	AreaChat       Area = "chat"
	AreaMemories   Area = "memories"
	AreaFavourites Area = "favourites"
	AreaManage     Area = "manage agents"
	AreaKeys       Area = "keys"
	AreaBilling    Area = "billing"
	AreaAccount    Area = "account"
	AreaAdmin      Area = "admin"
)

// work are the areas of daily work with agents: all that a program ever needs that somebody has connected.
var work = []Area{AreaAgents, AreaSearch, AreaChat, AreaMemories, AreaFavourites, AreaManage}

var areas = append(work[:len(work):len(work)], AreaKeys, AreaBilling, AreaAccount, AreaAdmin)

// Areas lists all areas.
func Areas() []Area { return slices.Clone(areas) }

// reach is the one table of what a kind of credential can be made for. Inside of it the scopes of the single credential
// decide. A kind that is not here reaches nothing.
var reach = map[CredentialKind][]Area{
	CredentialKey:      areas,
	CredentialMinted:   work,
	CredentialOAuth:    work,
	CredentialSession:  areas,
	CredentialOperator: areas,
}

// areaScopes are the scopes that a credential needs in each area.
var areaScopes = map[Area]Scope{
	AreaAgents:     ScopeAgents,
	AreaSearch:     ScopeAgents,
	AreaChat:       ScopeAgents,
	AreaMemories:   ScopeAgents,
	AreaFavourites: ScopeAgents,
	AreaManage:     ScopeManage,
	AreaKeys:       ScopeAccount,
	AreaBilling:    ScopeAccount,
	AreaAccount:    ScopeAccount,
	AreaAdmin:      ScopeAdmin,
}

// Reach returns the scope with which a credential of this kind gets into an area, and whether any does.
func Reach(kind CredentialKind, area Area) (Scope, bool) {
	scope, known := areaScopes[area]
	return scope, known && slices.Contains(reach[kind], area)
}

func (a Actor) reaches(area Area) bool {
	scope, ever := Reach(a.Credential, area)
	return ever && slices.Contains(a.Scopes, scope)
}
