import AdapterKit
import Experimentation
import Foundation
import HTTPTypes

/// An address of one's own that takes every event, in signed batches.
///
/// A batch is a JSON object, `{"id": …, "events": […]}`, whose events have the form of `docs/schemas/event.schema.json`.
/// It counts as delivered with a 2xx that is no page. An answer `{"rejected": ["id", …]}` names events that will never be
/// taken; the others of the batch are delivered then.
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

    /// Creates a provider; nothing is sent before a client starts it.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: How requests are sent; the platform's way if `nil`.
    public init(configuration: WebhookConfiguration, transport: (any HTTPTransport)? = nil) {
        self.configuration = configuration
        self.transport = transport
    }

    /// The address; a new secret is no new account.
    public var scope: String { "\(configuration.endpoint)" }

    /// Events of every kind; no decisions.
    public let capabilities: Set<Capability> = [.tracking, .exposures, .commerce, .batching, .eventIDs, .consentSignal]

    /// Checks the settings.
    ///
    /// - Throws: ``ErrorCode/configuration`` that names the setting.
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

/// Takes events to an address.
struct WebhookEventSink: EventSink {
    let requests: WebhookRequests
    let client: HTTPClient
    let time: any TimeSource

    var batching: BatchPolicy { requests.configuration.batching }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {}

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        var report = DeliveryReport(noAnswerTo: batch.count)
        var events: [FlagValue] = []
        var places: [Int] = []
        for (place, envelope) in batch.enumerated() {
            do throws(ExperimentationError) {
                events.append(try EventForm.value(of: envelope))
                places.append(place)
            } catch {
                report[place] = .rejected(error.message)
            }
        }
        if places.isEmpty { return report }
        let sent = places.map { batch[$0] }
        do throws(ExperimentationError) {
            let message = try requests.batch(events, id: sent.batchName, at: time.now)
            let limits = HTTPLimits(deadline: requests.configuration.timeout, responseBytes: 1 << 20)
            let reply = try await client.send(message.request, body: message.body, limits: limits)
            report.add(WebhookAnswer.report(on: sent, reply, now: time.now), at: places)
        } catch {
            report.add(DeliveryReport(DeliveryVerdict.of(error)), at: places)
        }
        return report
    }
}

/// What an answer says of a batch.
enum WebhookAnswer {
    /// Reads an answer.
    ///
    /// | Answer | Verdict |
    /// |---|---|
    /// | 2xx with nothing, a text or JSON | delivered, but for events named under `rejected` |
    /// | 2xx with a page, or with what says it is JSON and isn't | outage: something between here and there answered |
    /// | any other status | as `DeliveryVerdict.of(_:now:)` has it |
    static func report(on batch: [Envelope], _ reply: HTTPReply, now: Date) -> DeliveryReport {
        guard (200...299).contains(reply.status) else { return DeliveryReport(DeliveryVerdict.of(reply, now: now)) }
        let answer = try? JSON.parse(reply.body)
        if isPage(reply) || (answer == nil && claimsJSON(reply)) {
            return DeliveryReport(.outage(because: .foreign))
        }
        let named = answer?.objectValue?["rejected"]?.arrayValue ?? []
        let rejected = Set(named.compactMap(\.stringValue))
        if rejected.isEmpty { return DeliveryReport(.delivered) }
        return DeliveryReport(
            batch.map { rejected.contains($0.id) ? .rejected("the receiver refuses it") : .delivered }
        )
    }

    private static func type(of reply: HTTPReply) -> String {
        reply.response.headerFields[.contentType]?.lowercased() ?? ""
    }

    /// Whether the body must be JSON; a receiver that has nothing to say may say so under any type.
    private static func claimsJSON(_ reply: HTTPReply) -> Bool {
        let type = type(of: reply).prefix { $0 != ";" }
        return (type.hasSuffix("/json") || type.hasSuffix("+json")) && reply.body.contains { !$0.isBlank }
    }

    private static func isPage(_ reply: HTTPReply) -> Bool {
        let type = type(of: reply)
        if type.hasPrefix("text/html") || type.hasPrefix("application/xhtml") { return true }
        return reply.body.first { !$0.isBlank } == UInt8(ascii: "<")
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool {
        self == 0x20 || (0x09...0x0D).contains(self) || self == 0xEF || self == 0xBB || self == 0xBF
    }
}
