import AdapterKit
import Experimentation
import Foundation
import HTTPTypes

/// Sends every event to a URL of your own, in signed batches.
///
/// A batch is a JSON object, `{"id": …, "events": […]}`, whose events have the form of
/// `docs/schemas/event.schema.json`. It counts as delivered on any 2xx answer, except for an HTML page, and for a body
/// that isn't the JSON that its type claims. The answer `{"rejected": ["id", …]}` rejects the named events for good;
/// the others are delivered.
///
/// ```swift
/// let endpoint = try Endpoint("https://events.example.com/in")
/// let webhook = WebhookProvider(configuration: WebhookConfiguration(endpoint: endpoint, secret: "whsec_…"))
/// ```
public struct WebhookProvider: ExperimentationProvider {
    /// The destination's name.
    public let name = "webhook"
    /// The settings.
    public let configuration: WebhookConfiguration
    private let transport: (any HTTPTransport)?

    /// Creates a provider; sends nothing before a client starts it.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: How requests are sent; the platform's engine if `nil`.
    public init(configuration: WebhookConfiguration, transport: (any HTTPTransport)? = nil) {
        self.configuration = configuration
        self.transport = transport
    }

    /// The URL; a new secret doesn't make a new account.
    public var scope: String { "\(configuration.endpoint)" }

    /// All kinds of events; no decisions.
    public let capabilities: Set<Capability> = [.tracking, .exposures, .commerce, .batching, .eventIDs, .consentSignal]

    /// Validates the settings.
    ///
    /// - Throws: ``ErrorCode/configuration`` naming the setting.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        try configuration.validate()
        let client = HTTPClient(
            transport: transport ?? DefaultTransport.make(),
            retry: .none,
            environment: context.environment
        )
        let sink = WebhookEventSink(
            requests: WebhookRequests(configuration: configuration),
            client: client,
            time: context.environment.time
        )
        return ProviderRoles(events: sink, needsConsent: configuration.needsConsent)
    }
}

/// Delivers events to a URL.
struct WebhookEventSink: EventSink {
    let requests: WebhookRequests
    let client: HTTPClient
    let time: any TimeSource

    var batching: BatchPolicy { requests.configuration.batching }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {}

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        let translated = TranslatedBatch(batch) { envelope throws(ExperimentationError) in
            try EventForm.value(of: envelope)
        }
        return await translated.deliver(post)
    }

    private func post(_ part: TranslatedBatch<FlagValue>) async -> DeliveryReport {
        do throws(ExperimentationError) {
            let message = try requests.batch(part.forms, id: part.events.batchName, at: time.now)
            let limits = HTTPLimits(deadline: requests.configuration.timeout, responseBytes: 1 << 20)
            let reply = try await client.send(message, limits: limits)
            return WebhookAnswer.report(on: part.events, reply, now: time.now)
        } catch {
            return DeliveryReport(DeliveryVerdict.of(error))
        }
    }
}

/// Interprets an answer to a batch.
enum WebhookAnswer {
    /// Returns the verdicts of an answer.
    ///
    /// | Answer | Verdict |
    /// |---|---|
    /// | 2xx, empty or with text or JSON | delivered, except for events named under `rejected` |
    /// | 2xx with an HTML page, or a body that isn't the JSON its type claims | outage: something on the way answered |
    /// | any other status | as in `DeliveryVerdict.of(_:now:)` |
    static func report(on batch: [Envelope], _ reply: HTTPReply, now: Date) -> DeliveryReport {
        guard (200...299).contains(reply.status) else { return DeliveryReport(DeliveryVerdict.of(reply, now: now)) }
        let answer = try? JSON.parse(reply.body)
        if reply.isPage || (answer == nil && claimsJSON(reply)) {
            return DeliveryReport(.outage(because: .foreign))
        }
        let named = answer?.objectValue?["rejected"]?.arrayValue ?? []
        let rejected = Set(named.compactMap(\.stringValue))
        if rejected.isEmpty { return DeliveryReport(.delivered) }
        return DeliveryReport(
            batch.map { rejected.contains($0.id) ? .rejected("the receiver refuses it") : .delivered }
        )
    }

    /// Whether the body must be JSON; a receiver that has nothing to say may answer with any type.
    private static func claimsJSON(_ reply: HTTPReply) -> Bool {
        let type = reply.contentType
        return (type.hasSuffix("/json") || type.hasSuffix("+json")) && !reply.isBlank
    }
}
