import Experimentation
import Synchronization

/// The last known location of this address; only one request for it is in progress at a time.
final class SigmaLocator: Sendable {
    /// How long a request may delay the rules: a decision without a city is better than a late one.
    static let patience = Duration.seconds(2)

    private struct State {
        var place: [String: String] = [:]
        /// Whether this run has had an answer.
        var isAnswered = false
        /// The request in progress, and until when to wait for it.
        var request: (asking: Task<Void, Never>, deadline: ContinuousClock.Instant)?
        var isStopped = false
    }

    private let service: SigmaService
    private let privateID: String
    private let environment: ClientEnvironment
    private let state = Mutex(State())

    init(_ service: SigmaService, privateID: String, environment: ClientEnvironment) {
        self.service = service
        self.privateID = privateID
        self.environment = environment
    }

    /// Takes an earlier run's location as the last known one, unless this run has had an answer.
    func restore(_ place: [String: String]) { state.withLock { if !$0.isAnswered { $0.place = place } } }

    /// Requests the location; without an answer in time, returns the last known one.
    ///
    /// A late answer becomes the last known location.
    func place() async -> [String: String] {
        let deadline = environment.time.instant.advanced(by: Self.patience)
        let request = state.withLock { state in
            if !state.isStopped, state.request == nil { state.request = (Task { await self.ask() }, deadline) }
            return state.isStopped ? nil : state.request
        }
        if let request, await !environment.time.ends(by: request.deadline, { await request.asking.value }) {
            environment.log.log(.warning, "sigma.place", "The location is late; the last known one is used.")
        }
        return state.withLock { $0.place }
    }

    /// Cancels a request in progress, and sends no more: rules that were requested before may still arrive.
    func stop() {
        let request = state.withLock { state in
            state.isStopped = true
            return state.request
        }
        request?.asking.cancel()
    }

    private func ask() async {
        do throws(SigmaNetworkError) {
            let place = try await service.place(privateID: privateID)
            state.withLock { ($0.place, $0.isAnswered) = (place, true) }
        } catch {
            if !Task.isCancelled {
                environment.log.log(
                    .warning,
                    "sigma.place",
                    "The location is unavailable; the last known one is used: \(error)"
                )
            }
        }
        state.withLock { $0.request = nil }
    }
}
