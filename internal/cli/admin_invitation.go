package cli

import (
	"cmp"
	"context"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/signin"
)

type invitationCommands struct {
	Create invitationCreate `cmd:"" help:"Create a one-time link with which a person creates an account."`
	List   invitationList   `cmd:"" help:"List open invitations."`
	Revoke invitationRevoke `cmd:"" help:"Revoke an invitation. Its link stops working."`
}

type invitationCreate struct {
	Email string `help:"E-mail address of the new account. Default: the person chooses one."`
	Role  string `enum:"admin,member" default:"member" help:"admin or member."`
	Plan  string `placeholder:"NAME" help:"Plan, or none for no subscription. Default: the setting default-plan."`
	Days  int    `default:"7" help:"Days until it expires, from 1 to 30."`
	JSON  bool   `help:"Print one JSON object: {\"invitation\":{\"url\":…,\"code\":…}}."`
}

// Run creates an invitation.
func (c invitationCreate) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		if c.Plan != "" && c.Plan != core.PlanNone {
			_, err := a.Billing.Plans.Get(ctx, core.Operator(""), c.Plan)
			if core.IsKind(err, core.KindNotFound) {
				return billing.NoSuchPlan()
			}
			if err != nil {
				return err
			}
		}
		i, code, err := a.SignIn.Invitations.Issue(ctx, core.Operator(""), signin.NewInvitation{
			Email: c.Email, Role: core.Role(c.Role), Plan: c.Plan, Days: c.Days,
		})
		if err != nil {
			return err
		}
		out := invitationJSON(i)
		link := a.Config.BaseURL + signin.JoinPath + "#" + code
		out["url"], out["code"] = link, code
		return a.print(c.JSON, map[string]any{"invitation": out},
			"Send this link to the person:\n\n  %s\n\nIt works once, until %s. "+
				"Revoke it with: carrel admin invitation revoke %s",
			link, date(i.ExpiresAt), i.ID)
	})
}

func invitationJSON(i signin.Invitation) map[string]any {
	out := map[string]any{
		"id": i.ID, "role": i.Role, "createdAt": date(i.CreatedAt), "expiresAt": date(i.ExpiresAt),
	}
	for name, value := range map[string]string{"email": i.Email, "plan": i.Plan, "createdBy": i.CreatorEmail} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

type invitationList struct {
	JSON bool `help:"Print one JSON object: {\"invitations\":[…]}."`
}

// Run lists open invitations.
func (c invitationList) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		list, err := a.SignIn.Invitations.List(ctx, core.Operator(""))
		if err != nil {
			return err
		}
		return printList(a, c.JSON, "invitations", list, invitationJSON,
			"EMAIL\tROLE\tPLAN\tCREATED BY\tCREATED\tEXPIRES\tID", func(i signin.Invitation) []string {
				return []string{
					cmp.Or(i.Email, "any"), string(i.Role), cmp.Or(i.Plan, "default"), cmp.Or(i.CreatorEmail, "operator"),
					date(i.CreatedAt), date(i.ExpiresAt), i.ID,
				}
			})
	})
}

type invitationRevoke struct {
	ID   string `arg:"" help:"The id of the invitation."`
	JSON bool   `help:"Print one JSON object."`
}

// Run revokes an invitation.
func (c invitationRevoke) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		if err := a.SignIn.Invitations.Revoke(ctx, core.Operator(""), c.ID); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"invitation": map[string]any{"id": c.ID, "revoked": true}}, "Revoked %s.", c.ID)
	})
}
