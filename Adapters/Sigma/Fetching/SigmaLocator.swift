import Experimentation
import Synchronization

/// The location of this address as last known, requested once at a time.
final class SigmaLocator: Sendable {
    /// How long a request may delay the rules: a decision without a city is better than a late one.
    static let patience = Duration.seconds(2)

    private struct Request {
        let isOver = AsyncGate()
        let deadline: ContinuousClock.Instant
    }

    private struct State {
        var place: [String: String] = [:]
        var request: Request?
        var asking: Task<Void, Never>?
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

    /// Takes an earlier run's location as the last known one.
    func restore(_ place: [String: String]) { state.withLock { $0.place = place } }

    /// Requests the location; without an answer in time, returns the last known one.
    ///
    /// A late answer becomes the last known location.
    func place() async -> [String: String] {
        let request = request()
        if await !request.isOver.wait(until: request.deadline, by: environment.time) {
            environment.log.log(.warning, "sigma.place", "The location is late; the last known one is used.")
        }
        return state.withLock { $0.place }
    }

    /// Cancels a request in progress.
    func stop() { state.withLock { $0.asking }?.cancel() }

    /// Returns the request in progress, or a new one.
    private func request() -> Request {
        let new = Request(deadline: environment.time.instant.advanced(by: Self.patience))
        return state.withLock { state in
            if let request = state.request { return request }
            state.request = new
            state.asking = Task {
                let place = await self.answer()
                self.state.withLock { state in
                    state.place = place ?? state.place
                    (state.request, state.asking) = (nil, nil)
                }
                new.isOver.open()
            }
            return new
        }
    }

    private func answer() async -> [String: String]? {
        do throws(SigmaNetworkError) { return try await service.place(privateID: privateID) } catch {
            environment.log.log(
                .warning,
                "sigma.place",
                "The location is unavailable; the last known one is used: \(error)"
            )
            return nil
        }
    }
}
