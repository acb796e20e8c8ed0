import Experimentation
import Foundation

/// A provider in another process, as the local client sees it.
struct RemoteProvider: ExperimentationProvider, DecisionSource, EventSink, IdentityLinker {
    let stage: RemoteStage
    let id: String
    /// The suite's time and ids, once the provider has started.
    var environment: ClientEnvironment?

    var name: String { stage.subject.name }
    var scope: String { "remote" }
    var capabilities: Set<Capability> { stage.subject.capabilities }
    var freshness: Freshness { Freshness(lifetime: traits.lifetime.map { .seconds($0) }) }
    var batching: BatchPolicy { BatchPolicy() }
    private var traits: RemoteTraits { stage.subject.traits }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var started = self
        started.environment = context.environment
        var roles = ProviderRoles(
            decisions: traits.decides ? .asked(started) : nil,
            events: traits.events.isEmpty ? nil : started,
            identity: traits.links ? started : nil,
            campaigns: traits.campaignLimit.map { CampaignPolicy(limitPerTarget: $0) },
            needsConsent: traits.needsConsent
        )
        roles.assignments = AssignmentPolicy(
            isSticky: capabilities.contains(.stickyAssignments),
            allowsOverrides: capabilities.contains(.overrides)
        )
        return roles
    }

    // MARK: Decisions

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        do {
            let parameters: [String: FlagValue] = [
                "user": context.user.document,
                "assignments": .object(context.earlierAssignments.mapValues { .string($0) }),
                "overrides": .array(context.overrides.map(\.document)),
            ]
            return try await call("decisions", parameters) { reader in
                let isDisabled = try reader.bool("disabled", default: false)
                let assignments = try reader.each("assignments") { (reader) throws(DocumentError) in
                    try Assignment(reading: &reader)
                }
                let flags = try reader.each("flags") { (reader) throws(DocumentError) in
                    (key: try reader.string("key"), resolution: try Resolution(reading: &reader))
                }
                return isDisabled ? .disabled : .decided(Decisions(flags: flags, assignments: assignments))
            }
        } catch {
            throw Self.translated(error)
        }
    }

    // MARK: Events

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        guard !traits.events.contains(event.type) else { return }
        throw ExperimentationError(.unsupported, "\(name) has no word for \(event.type).")
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        do {
            let events: [FlagValue] = try batch.map { envelope in
                [
                    "id": .string(envelope.id), "user": User(envelope.identity).document,
                    "event": try Self.document(of: envelope.event),
                    "at": .string(envelope.date.iso8601Milliseconds),
                ]
            }
            return try await call("deliver", ["events": .array(events)]) { reader in
                let isDisabled = try reader.bool("disabled", default: false)
                // On the wire, verdicts are keyed by event id, so that a service may answer in any order.
                var verdicts: [String: Verdict] = [:]
                for (id, value) in try reader.object("verdicts") {
                    var reader = try DocumentReader(value, named: reader.document, at: "result.verdicts.\(id)")
                    verdicts[id] = try Verdict(reading: &reader)
                    try reader.finish()
                }
                let campaigns = try reader.each("campaigns") { (reader) throws(DocumentError) in
                    try ReceivedCampaign(reading: &reader)
                }
                return DeliveryReport(batch.map { verdicts[$0.id] }, campaigns: campaigns, isDisabled: isDisabled)
            }
        } catch {
            // Their outcome is unknown, so they are sent again.
            let problem = (error as? DocumentError).map { OutageReason(rawValue: $0.description) }
            return DeliveryReport(.outage(because: problem ?? .noAnswer))
        }
    }

    /// An event in the form in which commands carry it.
    static func document(of event: TrackingEvent) throws -> FlagValue {
        try JSONDecoder().decode(FlagValue.self, from: JSONEncoder().encode(event))
    }

    // MARK: Linking

    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
        do {
            let parameters: [String: FlagValue] = [
                "from": User(progress.from).document, "to": User(progress.to).document,
                "criteria": .object(progress.criteria.mapValues { .string($0) }),
                "notes": .string(String(decoding: progress.notes, as: UTF8.self)),
            ]
            return try await call("link", parameters) { reader in
                var next = progress
                next.isComplete = try reader.bool("complete", default: true)
                next.notes = Array((try reader.optionalString("notes") ?? "").utf8)
                return next
            }
        } catch {
            throw Self.translated(error)
        }
    }

    private func call<Result>(
        _ command: String,
        _ parameters: [String: FlagValue],
        _ read: (inout DocumentReader) throws -> Result
    ) async throws -> Result {
        var members = parameters
        members["provider"] = .string(id)
        if let environment, stage.subject.spokenProtocol >= 2 {
            members["now"] = .string(environment.time.now.iso8601Milliseconds)
            members["id"] = .string(environment.makeID())
        }
        return try await stage.call(command, members, read)
    }

    private static func translated(_ error: any Error) -> ExperimentationError {
        switch error {
        case let error as ExperimentationError: error
        case let error as DocumentError: ExperimentationError(.parseError, error.description)
        default: ExperimentationError(.transport, "The other process can't be reached.", cause: error)
        }
    }
}

extension User {
    init(_ identity: Identity) {
        self.init(id: identity.id, anonymousID: identity.anonymousID, isAuthenticated: identity.isAuthenticated)
    }
}
