import AdapterKit
import Experimentation

/// What a client's roles share: the settings, the transport, and what is remembered about visitors meanwhile.
struct FlagshipService: Sendable {
    let configuration: FlagshipConfiguration
    let requests: FlagshipRequests
    /// Sends each request once, unless a call says otherwise.
    let client: HTTPClient
    let environment: ClientEnvironment
    /// Receives the account's settings, and failures.
    let reporter: FlagshipReporter?
    /// Receives visitors' contexts, and the exposures that the vendor has taken.
    let observations: FlagshipObservations
    /// Records who has withdrawn consent while a request to the vendor is in progress.
    let removals = UserRemovals()

    init(_ configuration: FlagshipConfiguration, transport: any HTTPTransport, environment: ClientEnvironment) {
        self.configuration = configuration
        self.environment = environment
        requests = FlagshipRequests(configuration: configuration)
        client = HTTPClient(transport: transport, environment: environment)
        reporter = FlagshipReporter(requests, client: client, environment: environment)
        observations = FlagshipObservations(configuration.onVisitorExposed)
    }

    /// Warns of parts of a document that count as missing.
    func note(unreadable count: Int, in document: String) {
        guard count > 0 else { return }
        environment.log.log(.warning, "flagship.unreadable", "parts that can't be read in \(document): \(count)")
    }

    /// Removes a visitor who has withdrawn consent.
    func forget(_ visitor: String) {
        removals.note(visitor)
        observations.forget(visitor)
        reporter?.forget(visitor)
    }
}
