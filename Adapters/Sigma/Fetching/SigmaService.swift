import AdapterKit
import Experimentation
import HTTPTypes

/// Calls the service as often as the settings say, without waiting between attempts.
///
/// The vendor's SDK retries after any failure, including a refusal or an unreadable body, so this doesn't use the kit's
/// retry.
struct SigmaService: Sendable {
    var configuration: SigmaConfiguration
    private let client: HTTPClient
    private let log: any LogSink
    /// An address that isn't valid; every call then fails with it, as in the vendor's SDK.
    private let refusedURL: String?

    init(
        _ configuration: SigmaConfiguration,
        transport: any HTTPTransport,
        environment: ClientEnvironment,
        refusedURL: String? = nil
    ) {
        self.configuration = configuration
        self.refusedURL = refusedURL
        client = HTTPClient(transport: transport, environment: environment)
        log = environment.log
    }

    /// A configuration as received, and as parsed.
    typealias Configuration = (raw: [UInt8], root: SigmaWire.Root)

    /// Fetches the project's configuration.
    func configuration(privateID: String) async throws(SigmaNetworkError) -> Configuration {
        try await attempts(.configuration, privateID: privateID) {
            (raw) throws(ExperimentationError) in
            (raw, try JSON.decode(SigmaWire.Root.self, from: raw))
        }
    }

    /// Fetches the location, by full property names; parts that aren't texts are left out.
    func place(privateID: String) async throws(SigmaNetworkError) -> [String: String] {
        try await attempts(.place, privateID: privateID) {
            (raw) throws(ExperimentationError) in
            let place = try JSON.decode([String: FlagValue].self, from: raw).compactMapValues(\.stringValue)
            return Dictionary(uniqueKeysWithValues: place.map { (Property.placePrefix + $0, $1) })
        }
    }

    private func attempts<Value: Sendable>(
        _ resource: SigmaRequests.Resource,
        privateID: String,
        read: ([UInt8]) throws(ExperimentationError) -> Value
    ) async throws(SigmaNetworkError) -> Value {
        // An invalid field value would be sent as another value.
        guard configuration.hasUsableToken else { throw .customError("the project token can't be sent") }
        if let refusedURL { throw .incorrectURL(refusedURL) }
        let request = SigmaRequests.get(resource, of: configuration, privateID: privateID)
        var failure = SigmaNetworkError.noData
        for attempt in 0...configuration.retryCount {
            do throws(SigmaNetworkError) { return try await once(request, read) } catch { failure = error }
            log.log(.debug, "sigma.fetch", "Attempt \(attempt + 1) at \(resource.rawValue) failed: \(failure)")
            if Task.isCancelled { break }
        }
        throw failure
    }

    private func once<Value: Sendable>(
        _ request: HTTPRequest,
        _ read: ([UInt8]) throws(ExperimentationError) -> Value
    ) async throws(SigmaNetworkError) -> Value {
        // A project may have ten thousand flags, a few hundred bytes each.
        let limits = HTTPLimits(deadline: configuration.fetchTimeout, responseBytes: 32 << 20)
        let reply: HTTPReply
        do throws(ExperimentationError) {
            reply = try await client.send(request, limits: limits)
        } catch {
            throw SigmaNetworkError(error)
        }
        guard (200...299).contains(reply.status) else { throw .wrongStatusCode(reply.status) }
        guard !reply.body.isEmpty else { throw .noData }
        do throws(ExperimentationError) { return try read(reply.body) } catch { throw .decodingError(error) }
    }
}
