import ConformanceKit
import Experimentation
import ExperimentationComposition
import Synchronization

/// The stages of several vendors, combined.
final class ComposedStage: SubjectStage {
    /// The exchanges in the order in which they were first seen.
    private struct Seen: Sendable {
        var exchanges: [Exchange] = []
        var counts: [Int]
        /// The accounts of the parts, by name.
        var accounts: [String: Destination] = [:]
        var world: World
    }

    private let subject: ComposedSubject
    private let stages: [any SubjectStage]
    private let seen: Mutex<Seen>

    init(_ subject: ComposedSubject, _ stages: [any SubjectStage], _ world: World) {
        self.subject = subject
        self.stages = stages
        seen = Mutex(Seen(counts: stages.map { _ in 0 }, world: world))
    }

    private func stages(of parts: [ComposedSubject.Part]) -> [any SubjectStage] {
        zip(subject.parts, stages).filter { part, _ in parts.contains { $0.name == part.name } }.map(\.1)
    }

    private var deciding: [any SubjectStage] { stages(of: subject.deciding) }
    private var taking: [any SubjectStage] { stages(of: subject.taking) }
    private var linking: [any SubjectStage] { stages(of: subject.linking) }

    /// The gaps of the vendors that are asked for the affected part.
    var gaps: [WorldGap] {
        get async {
            func isOfEvents(_ gap: WorldGap) -> Bool { gap.path.hasPrefix("campaigns") }
            var gaps: [WorldGap] = []
            for stage in deciding { gaps += await stage.gaps.filter { !isOfEvents($0) } }
            for stage in taking { gaps += await stage.gaps.filter(isOfEvents) }
            return gaps
        }
    }

    var secrets: [String] { stages.flatMap(\.secrets) }

    var isHeard: Bool {
        get async throws {
            for stage in deciding where try await !stage.isHeard { return false }
            return true
        }
    }

    func makeProvider() async throws -> any ExperimentationProvider {
        var vendors: [ComposedProvider.Vendor] = []
        for (part, stage) in zip(subject.parts, stages) {
            vendors.append(ComposedProvider.Vendor(try await stage.makeProvider(), as: part.name))
        }
        let accounts = Dictionary(uniqueKeysWithValues: vendors.map { ($0.name, $0.provider.destination) })
        seen.withLock { $0.accounts = accounts }
        return try ComposedProvider(
            vendors,
            decisions: subject.decisions,
            events: subject.events,
            exposures: subject.exposures,
            name: subject.name
        )
    }

    func change(to world: World) async throws {
        let before = seen.withLock { seen in
            defer { seen.world = world }
            return seen.world
        }
        for (part, stage) in zip(subject.parts, stages) {
            // Don't refill a mock whose world hasn't changed: some mocks then forget what they received.
            guard subject.heeds(part, world) != subject.heeds(part, before) else { continue }
            try await stage.change(to: subject.world(of: part, in: world))
        }
    }

    func inject(_ faults: [WorldFault]) async throws {
        for var fault in faults {
            switch fault.operation {
            case .decisions: for stage in deciding { try await stage.inject([fault]) }
            case .any:
                for (part, stage) in zip(subject.parts, stages) where isWatched(part) {
                    try await stage.inject([fault])
                }
            case .identity: for stage in linking { try await stage.inject([fault]) }
            case .exposures where !subject.taking.allSatisfy({ $0.subject.capabilities.contains(.exposures) }):
                // Here exposures are sent as events.
                fault.operation = .events
                for stage in taking { try await stage.inject([fault]) }
            default: for stage in taking { try await stage.inject([fault]) }
            }
        }
    }

    private func isWatched(_ part: ComposedSubject.Part) -> Bool {
        (subject.deciding + subject.taking).contains { $0.name == part.name }
    }

    func clearFaults() async throws { for stage in stages { try await stage.clearFaults() } }

    func setKillSwitch(_ isOn: Bool) async throws {
        for stage in deciding { try await stage.setKillSwitch(isOn) }
    }

    func setReachable(_ isReachable: Bool) async throws {
        for stage in stages { try await stage.setReachable(isReachable) }
    }

    func setRoundTrip(_ duration: Duration) async -> Bool {
        var isEverywhere = true
        for stage in stages where await !stage.setRoundTrip(duration) { isEverywhere = false }
        return isEverywhere
    }

    func received() async throws -> [Received] {
        var all: [Received] = []
        for (index, (part, stage)) in zip(subject.parts, stages).enumerated() {
            let isWatched = subject.taking.contains { $0.name == part.name }
            for var received in try await stage.received() where isWatched || received.type == "identity" {
                received.exchange = number(received.exchange, of: index)
                all.append(Self.asExposure(received))
            }
        }
        return all
    }

    func ledger(of client: ExperimentationClient) async throws -> Ledger {
        guard let witness = subject.witness else { return try await client.ledger() }
        guard let account = seen.withLock({ $0.accounts[witness] }) else { return Ledger() }
        return try await client.ledgers()[account] ?? Ledger()
    }

    func needsConsent(_ roles: ProviderRoles) -> Bool {
        let accounts = seen.withLock { $0.accounts }
        let watched = subject.taking.compactMap { accounts[$0.name] }
        return roles.furtherRoutes.contains { watched.contains($0.destination) && $0.needsConsent }
    }

    var parts: [SubjectPart] {
        let (accounts, world) = seen.withLock { ($0.accounts, $0.world) }
        return zip(subject.parts, stages).map { part, stage in
            SubjectPart(
                part.name,
                part.subject,
                stage,
                world: subject.world(of: part, in: world),
                destination: accounts[part.name]
            ) {
                try await stage.received().map(Self.asExposure)
            }
        }
    }

    /// Converts an event that reports an exposure by its name or its fields back to the exposure.
    private static func asExposure(_ received: Received) -> Received {
        guard received.type == "custom", let name = received.name, name.hasPrefix("experiment_viewed") else {
            return received
        }
        var exposure = received
        let words = name.split(separator: " ").map(String.init)
        (exposure.type, exposure.name) = ("exposure", nil)
        exposure.experiment = words.count == 3 ? words[1] : received.attributes["experiment"]?.stringValue
        exposure.variation = words.count == 3 ? words[2] : received.attributes["variation"]?.stringValue
        return exposure
    }

    /// Maps the exchange numbers of several vendors to distinct ranges.
    private func number(_ number: Int, of stage: Int) -> Int { (number - 1) * stages.count + stage + 1 }

    func exchanges() async throws -> [Exchange] {
        var found: [[Exchange]] = []
        for stage in stages { found.append(try await stage.exchanges()) }
        return seen.withLock { [found] seen in
            for (index, exchanges) in found.enumerated() where exchanges.count > seen.counts[index] {
                let part = subject.parts[index]
                for var exchange in exchanges[seen.counts[index]...] where concerns(exchange, part) {
                    exchange.number = number(exchange.number, of: index)
                    seen.exchanges.append(exchange)
                }
                seen.counts[index] = exchanges.count
            }
            return seen.exchanges
        }
    }

    /// Whether an exchange is watched: every exchange of a witness, decisions and links of the others.
    private func concerns(_ exchange: Exchange, _ part: ComposedSubject.Part) -> Bool {
        if subject.witness == nil || subject.witness == part.name { return true }
        return [.decisions, .identity].contains(exchange.purpose)
    }

    func close() async { for stage in stages { await stage.close() } }
}
