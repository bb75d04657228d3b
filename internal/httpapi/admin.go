package httpapi

import (
	"context"

	"carrel/internal/account"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
	"carrel/internal/signin"
	"carrel/internal/task"
)

// ListUsers answers GET /api/admin/users.
func (h handlers) ListUsers(ctx context.Context, p oas.ListUsersParams) (*oas.UserList, error) {
	users, next, err := h.Accounts.Search(ctx, actor(ctx), p.Q.Value, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.UserList{Users: make([]oas.User, len(users)), NextCursor: optional(next)}
	for i, u := range users {
		out.Users[i] = userOf(u)
	}
	return out, nil
}

// GetUser answers GET /api/admin/users/{userId}.
func (h handlers) GetUser(ctx context.Context, p oas.GetUserParams) (*oas.UserReply, error) {
	return h.userReply(ctx, p.UserId)
}

// ChangeUser answers PATCH /api/admin/users/{userId}.
func (h handlers) ChangeUser(ctx context.Context, req *oas.UserChange, p oas.ChangeUserParams) (*oas.UserReply, error) {
	var a account.Adjustment
	if req.Email.Set {
		a.Email = &req.Email.Value
	}
	if req.Role.Set {
		role := core.Role(req.Role.Value)
		a.Role = &role
	}
	if req.Disabled.Set {
		a.Disabled = &req.Disabled.Value
	}
	if req.SpendCapMicros.Set {
		var limit *int64
		if !req.SpendCapMicros.Null {
			limit = &req.SpendCapMicros.Value
		}
		a.SpendCap = &limit
	}
	if a != (account.Adjustment{}) {
		if _, err := h.Accounts.Adjust(ctx, actor(ctx), p.UserId, a); err != nil {
			return nil, err
		}
	}
	if req.Plan.Set {
		if err := h.Billing.Plans.Assign(ctx, actor(ctx), p.UserId, req.Plan.Value); err != nil {
			return nil, err
		}
	}
	return h.userReply(ctx, p.UserId)
}

// userReply returns an account with its plan and usage.
func (h handlers) userReply(ctx context.Context, userID string) (*oas.UserReply, error) {
	u, err := h.Accounts.Get(ctx, actor(ctx), userID)
	if err != nil {
		return nil, err
	}
	e, err := h.Billing.Plans.Of(ctx, actor(ctx), userID)
	if err != nil {
		return nil, err
	}
	spend, err := h.Billing.Spending.Spend(ctx, userID)
	if err != nil {
		return nil, err
	}
	plan, subscription := h.entitlementOf(e)
	return &oas.UserReply{User: userOf(u), Plan: plan, Subscription: subscription, Spend: spendOf(spend)}, nil
}

func userOf(u account.User) oas.User {
	return oas.User{
		ID: u.ID, Email: u.Email, PendingEmail: optional(u.PendingEmail), Name: u.Name, Role: oas.Role(u.Role),
		Disabled: u.DisabledAt != nil, Plan: u.Plan,
		SpendCapMicros: optionalNumber(u.SpendCap), CreatedAt: timestamp(u.CreatedAt),
	}
}

// CreateUser answers POST /api/admin/users. The code for the password is in no other reply.
func (h handlers) CreateUser(ctx context.Context, req *oas.UserCreate) (*oas.UserCreated, error) {
	if err := h.checkPlan(ctx, req.Plan.Value); err != nil {
		return nil, err
	}
	u, err := h.Accounts.CreateWithoutPassword(ctx, actor(ctx), account.NewUser{
		Email: req.Email, Name: req.Name, Role: core.Role(req.Role.Value), Plan: req.Plan.Value,
	})
	if err != nil {
		return nil, err
	}
	reset, err := h.newReset(ctx, u.ID, false)
	if err != nil {
		return nil, err
	}
	return &oas.UserCreated{User: userOf(u), Reset: reset}, nil
}

// checkPlan reports whether new accounts can have a plan. An empty name is the default plan.
func (h handlers) checkPlan(ctx context.Context, name string) error {
	if name == "" || name == core.PlanNone {
		return nil
	}
	_, err := h.Billing.Plans.Get(ctx, actor(ctx), name)
	if core.IsKind(err, core.KindNotFound) {
		return billing.NoSuchPlan()
	}
	return err
}

// ResetPassword answers POST /api/admin/users/{userId}/reset. The code is in no other reply.
func (h handlers) ResetPassword(
	ctx context.Context, req *oas.ResetCreate, p oas.ResetPasswordParams,
) (*oas.ResetCreated, error) {
	u, err := h.Accounts.ForReset(ctx, actor(ctx), p.UserId)
	if err != nil {
		return nil, err
	}
	reset, err := h.newReset(ctx, u.ID, req.ClearFactors.Value)
	if err != nil {
		return nil, err
	}
	return &oas.ResetCreated{Reset: reset}, nil
}

func (h handlers) newReset(ctx context.Context, userID string, clearFactors bool) (oas.PasswordReset, error) {
	reset, code, err := h.Auth.Resets.Issue(ctx, actor(ctx), userID, clearFactors)
	if err != nil {
		return oas.PasswordReset{}, err
	}
	link := h.baseURL + signin.ResetPath + "#" + code
	return oas.PasswordReset{URL: link, Code: code, ExpiresAt: timestamp(reset.ExpiresAt)}, nil
}

// ListPlans answers GET /api/admin/plans.
func (h handlers) ListPlans(ctx context.Context) (*oas.PlanList, error) {
	plans, err := h.Billing.Plans.List(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.PlanList{Plans: make([]oas.Plan, len(plans))}
	for i, p := range plans {
		out.Plans[i] = adminPlanOf(p)
	}
	return out, nil
}

// PutPlan answers PUT /api/admin/plans/{planName}.
func (h handlers) PutPlan(ctx context.Context, req *oas.PlanChange, p oas.PutPlanParams) (*oas.PlanReply, error) {
	plan := billing.Plan{
		Name: p.PlanName, Models: req.Models, SpendCap: numberOf(req.SpendCapMicros), TurnCap: numberOf(req.TurnCapMicros),
		RateLimit: numberOf(req.RateLimit), RateBurst: numberOf(req.RateBurst), StorageLimit: numberOf(req.StorageLimitBytes),
		Price: req.PriceMicros.Value, StripePrice: req.StripePrice.Value,
	}
	for _, c := range req.Capabilities {
		plan.Capabilities = append(plan.Capabilities, core.Capability(c))
	}
	plan, err := h.Billing.Plans.Put(ctx, actor(ctx), plan)
	if err != nil {
		return nil, err
	}
	return &oas.PlanReply{Plan: adminPlanOf(plan)}, nil
}

// DeletePlan answers DELETE /api/admin/plans/{planName}.
func (h handlers) DeletePlan(ctx context.Context, p oas.DeletePlanParams) (*oas.Deleted, error) {
	return deleted(h.Billing.Plans.Delete(ctx, actor(ctx), p.PlanName))
}

// ListTasks answers GET /api/admin/tasks.
func (h handlers) ListTasks(ctx context.Context, p oas.ListTasksParams) (*oas.TaskList, error) {
	tasks, next, err := h.Tasks.List(ctx, actor(ctx), task.State(p.State.Value), page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.TaskList{Tasks: make([]oas.Task, len(tasks)), NextCursor: optional(next)}
	for i, t := range tasks {
		out.Tasks[i] = oas.Task{
			ID: t.ID, Kind: t.Kind, State: oas.TaskState(t.State), Attempt: t.Attempt, UserId: optional(t.UserID),
			CreatedAt:  timestamp(t.CreatedAt),
			FinishedAt: optionalTime(t.FinishedAt), ErrorCode: optional(t.ErrorCode),
		}
	}
	return out, nil
}

// CancelTask answers POST /api/admin/tasks/{taskId}/cancel.
func (h handlers) CancelTask(ctx context.Context, p oas.CancelTaskParams) (*oas.CancelReply, error) {
	cancelled, err := h.Tasks.Cancel(ctx, actor(ctx), p.TaskId)
	if err != nil {
		return nil, err
	}
	return &oas.CancelReply{Cancelled: cancelled}, nil
}

// ListAllAudit answers GET /api/admin/audit.
func (h handlers) ListAllAudit(ctx context.Context, p oas.ListAllAuditParams) (*oas.AllAuditList, error) {
	entries, next, err := h.Audit.All(ctx, actor(ctx), p.UserId.Value, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.AllAuditList{Events: make([]oas.AllAuditEvent, len(entries)), NextCursor: optional(next)}
	for i, e := range entries {
		out.Events[i] = oas.AllAuditEvent{
			Seq: e.Seq, At: timestamp(e.At), UserId: optional(e.UserID), Event: string(e.Event), Actor: e.Actor,
			Address: optional(e.Address),
			Detail:  oas.AuditDetail(e.Detail),
		}
	}
	return out, nil
}
