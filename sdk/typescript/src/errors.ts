import type { FieldProblem } from "./schema.js";

/** The base of all errors of this package. */
export class CarrelError extends Error {
  override name = "CarrelError";
}

/** The server could not be reached, or a connection was lost. */
export class ConnectionFailed extends CarrelError {
  override name = "ConnectionFailed";
}

/** A webhook request was not signed with the secret, or is too old. */
export class SignatureError extends CarrelError {
  override name = "SignatureError";
}

/** An error reply of the server: a problem detail (RFC 9457), or the status of a proxy in front of it. */
export class ApiError extends CarrelError {
  override name = "ApiError";
  /** The status of the reply. */
  readonly status: number;
  /** The stable code of the problem. It is empty if the reply is no problem detail. */
  readonly code: string;
  /** What to do. */
  readonly detail: string;
  /** Identifies the request in the log of the server. */
  readonly requestId: string;
  /** The invalid fields of the request. */
  readonly fields: readonly FieldProblem[];
  /** The pause in milliseconds that the server requests, or 0. */
  readonly retryAfter: number;
  /** All members of the problem, such as `resetsAt` of `spend_cap_reached`. */
  readonly problem: Readonly<Record<string, unknown>>;

  constructor(status: number, problem: Record<string, unknown>, retryAfter = 0) {
    const text = (name: string) => (typeof problem[name] === "string" ? problem[name] : "");
    const code = text("code");
    const requestId = text("requestId");
    const detail = text("detail") || text("error_description") || `The server replied with status ${status}.`;
    const fields = Array.isArray(problem.errors) ? (problem.errors as FieldProblem[]) : [];
    const named = fields.map((field) => ` ${field.pointer}: ${field.detail}`).join("");
    const reference = [code, requestId && `request ${requestId}`].filter(Boolean).join(", ");
    super(detail + named + (reference && ` (${reference})`));
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.requestId = requestId;
    this.fields = fields;
    this.retryAfter = retryAfter;
    this.problem = problem;
  }

  /** Reads an error reply. */
  static async read(response: Response): Promise<ApiError> {
    let problem: unknown;
    try {
      problem = await response.json();
    } catch {
      // A proxy replies with HTML, and the status is known in any case.
    }
    const members = typeof problem === "object" && problem !== null ? (problem as Record<string, unknown>) : {};
    return new ApiError(response.status, members, retryAfter(response.headers.get("Retry-After")));
  }
}

/** Returns the milliseconds of a Retry-After header, which has seconds or a date. */
function retryAfter(value: string | null): number {
  if (value === null) return 0;
  const pause = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Math.max(0, pause || 0);
}
