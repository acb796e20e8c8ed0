/// An operation that takes time and leaves the process, as described to an observer.
public enum ObservedOperation: Sendable, Hashable {
    /// Decisions or rules are requested.
    ///
    /// - Parameter provider: The provider's name.
    case refresh(provider: String)
    /// A batch is handed to an adapter for delivery.
    ///
    /// - Parameters:
    ///   - destination: The destination, as ``Destination/description`` writes it.
    ///   - events: How many events there are.
    case delivery(destination: String, events: Int)
    /// A request is sent, within a refresh or a delivery or on its own; each attempt is one.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - host: The host with its port, if one is named; never the path, which may hold a user's id.
    case request(method: String, host: String)
}

/// How an observed operation ended.
public struct OperationOutcome: Sendable, Hashable {
    /// The error; `nil` if the operation succeeded.
    public var error: ErrorCode?
    /// The status of the answer to a request.
    public var status: Int?
    /// How many events of a delivery the vendor has taken.
    public var delivered: Int?

    /// Creates an outcome.
    public init(error: ErrorCode? = nil, status: Int? = nil, delivered: Int? = nil) {
        self.error = error
        self.status = status
        self.delivered = delivered
    }
}

/// Runs around operations that take time: refreshes, deliveries and each request, for spans and timers.
///
/// Set an observer in ``ClientEnvironment/operations``; without one nothing is created for it. Operations nest by the
/// task they run in. An observer can neither stop an operation nor change its result.
public protocol OperationObserver: Sendable {
    /// Runs around an operation.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - isolation: Where the body runs, which is where the caller runs.
    ///   - body: Performs the operation; to be called exactly once. It takes header fields to send with a request, such
    ///     as `traceparent`, and ignores those that aren't valid or that the request already has.
    /// - Returns: What the body returned first.
    func around<Value: Sendable>(
        _ operation: ObservedOperation,
        isolation: isolated (any Actor)?,
        _ body: (_ fields: [String: String]) async -> (Value, OperationOutcome)
    ) async -> Value
}

extension ClientEnvironment {
    /// Performs an operation, with the observer around it if there is one.
    ///
    /// - Parameters:
    ///   - operation: The operation; created only if there is an observer.
    ///   - isolation: Where the body runs.
    ///   - outcome: The outcome to report on success.
    ///   - body: Performs the operation; takes the header fields that a request is to carry.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
    public func observed<Value: Sendable>(
        _ operation: @autoclosure () -> ObservedOperation,
        isolation: isolated (any Actor)? = #isolation,
        outcome: (Value) -> OperationOutcome = { _ in OperationOutcome() },
        _ body: (_ fields: [String: String]) async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        guard let operations else { return try await body([:]) }
        let result: Result<Value, ExperimentationError> = await operations.around(operation(), isolation: isolation) {
            fields in
            do throws(ExperimentationError) {
                let value = try await body(fields)
                return (.success(value), outcome(value))
            } catch {
                return (.failure(error), OperationOutcome(error: error.code))
            }
        }
        return try result.get()
    }
}
