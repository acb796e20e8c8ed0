import Experimentation

/// Access tokens that expire: each is requested once for all callers, renewed before it expires, and requested less and
/// less often while requests fail.
package actor AccessTokens {
    /// A token and its validity.
    package struct Token: Sendable, Hashable {
        package let value: Secret
        /// When to request a new one.
        let renewal: ContinuousClock.Instant?
        /// When it becomes invalid.
        let end: ContinuousClock.Instant?
    }

    /// What the vendor has granted.
    package struct Grant: Sendable {
        var token: Secret
        var life: Duration?

        /// Creates a grant; without a lifetime, the token doesn't expire.
        package init(_ token: Secret, for life: Duration?) {
            self.token = token
            self.life = life
        }
    }

    /// Requests a token, and notes how long the vendor asks to wait, if it does.
    package typealias Request = @Sendable (_ wait: inout Duration?) async throws(ExperimentationError) -> Grant

    /// Why there is no new token, and when to ask for one again.
    private struct Failure {
        let error: ExperimentationError
        /// How many attempts in a row have failed.
        let count: Int
        let notBefore: ContinuousClock.Instant
        /// Until when the vendor asked to wait, if it did.
        let askedUntil: ContinuousClock.Instant?
    }

    private let backoff: Backoff
    private let environment: ClientEnvironment
    private let request: Request
    private let flight = SingleFlight<String, Token>()
    private var token: Token?
    private var failure: Failure?

    /// Creates the tokens of one account.
    ///
    /// - Parameters:
    ///   - backoff: How long to wait after failures. Its shortest wait is also the shortest time that a token is used,
    ///     however short its life: the vendor wants few requests.
    ///   - environment: The client's clock and randomness.
    ///   - request: Requests a token.
    package init(backoff: Backoff, environment: ClientEnvironment, request: @escaping Request) {
        self.backoff = backoff
        self.environment = environment
        self.request = request
    }

    /// Returns a valid token, requesting one if necessary; all callers share one request.
    ///
    /// Retries until the deadline. Makes one attempt in any case, unless the last failure calls for a wait beyond the
    /// deadline.
    package func token(until deadline: ContinuousClock.Instant) async throws(ExperimentationError) -> Token {
        while true {
            if let token, isBefore(token.renewal) { return token }
            if let failure, isBefore(failure.notBefore) {
                // A token that is due for renewal but hasn't expired is better than none.
                if let token, isBefore(token.end) { return token }
                guard failure.error.isWorthWaiting, failure.notBefore <= deadline else { throw failure.error }
                do {
                    try await environment.time.sleep(until: failure.notBefore)
                } catch {
                    throw ExperimentationError(.cancelled, "cancelled while waiting for a token")
                }
                continue
            }
            do throws(ExperimentationError) {
                // A token that was just issued is used, however short its validity.
                return try await flight("token") { () async throws(ExperimentationError) in try await self.ask() }
            } catch {
                // A caller that is cancelled, as by a denial of consent, doesn't wait for the answer; the others do.
                guard error.code != .cancelled else { throw error }
                // Where attempts follow each other without a wait, only this ends them.
                if let token, isBefore(token.end) { return token }
                guard error.isWorthWaiting, isBefore(deadline) else { throw error }
            }
        }
    }

    /// Whether a time is still to come; `nil` always is.
    private func isBefore(_ instant: ContinuousClock.Instant?) -> Bool {
        instant.map { environment.time.instant < $0 } ?? true
    }

    /// How long the vendor asked to wait, if its last answer asked; otherwise callers that retry have a schedule of
    /// their own.
    package var patience: Duration? {
        guard let askedUntil = failure?.askedUntil else { return nil }
        let rest = environment.time.instant.duration(to: askedUntil)
        return rest > .zero ? rest : nil
    }

    /// Notes that the vendor refused a token; the next caller gets another one.
    package func reject(_ refused: Token) {
        if token?.value == refused.value { token = nil }
    }

    private func ask() async throws(ExperimentationError) -> Token {
        var wait: Duration?
        let begun = environment.time.instant
        do throws(ExperimentationError) {
            let grant = try await request(&wait)
            let life = grant.life.map { max($0, backoff.first) }
            let token = Token(
                value: grant.token,
                renewal: life.map { begun.advanced(by: max($0 * 0.75, backoff.first)) },
                end: life.map { begun.advanced(by: $0) }
            )
            (self.token, failure) = (token, nil)
            return token
        } catch {
            let now = environment.time.instant
            let count = (failure?.count ?? 0) + 1
            let pause = backoff.delay(before: count, jitter: 0.5 + environment.jitter() / 2)
            failure = Failure(
                error: error,
                count: count,
                notBefore: now.advanced(by: max(pause, wait ?? .zero)),
                askedUntil: wait.map { now.advanced(by: $0) }
            )
            throw error
        }
    }
}

extension ExperimentationError {
    /// Whether the same request may succeed later without a change.
    fileprivate var isWorthWaiting: Bool { [.transport, .timeout, .vendorFault].contains(code) }
}
