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
    }

    private let subject: ComposedSubject
    private let stages: [any SubjectStage]
    private let seen: Mutex<Seen>

    init(_ subject: ComposedSubject, _ stages: [any SubjectStage]) {
        self.subject = subject
        self.stages = stages
        seen = Mutex(Seen(counts: stages.map { _ in 0 }))
    }

    private func stages(of parts: [ComposedSubject.Part]) -> [any SubjectStage] {
        zip(subject.parts, stages).filter { part, _ in parts.contains { $0.name == part.name } }.map(\.1)
    }

    private var deciding: [any SubjectStage] { stages(of: subject.deciding) }
    private var taking: [any SubjectStage] { stages(of: subject.taking) }

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

    func makeProvider() async throws -> any ExperimentationProvider {
        var vendors: [ComposedProvider.Vendor] = []
        for (part, stage) in zip(subject.parts, stages) {
            vendors.append(ComposedProvider.Vendor(try await stage.makeProvider(), as: part.name))
        }
        return try ComposedProvider(
            vendors,
            decisions: subject.decisions,
            events: subject.events,
            exposures: subject.exposures,
            name: subject.name
        )
    }

    func change(to world: World) async throws { for stage in stages { try await stage.change(to: world) } }

    func inject(_ faults: [WorldFault]) async throws {
        for var fault in faults {
            switch fault.operation {
            case .decisions: for stage in deciding { try await stage.inject([fault]) }
            case .any: for stage in stages { try await stage.inject([fault]) }
            default:
                // Here exposures may be sent as events.
                if fault.operation == .exposures { fault.operation = .events }
                for stage in taking { try await stage.inject([fault]) }
            }
        }
    }

    func clearFaults() async throws { for stage in stages { try await stage.clearFaults() } }

    func setKillSwitch(_ isOn: Bool) async throws { for stage in deciding { try await stage.setKillSwitch(isOn) } }

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
        for (index, stage) in stages.enumerated() {
            all += try await stage.received().map { received in
                var received = received
                received.exchange = number(received.exchange, of: index)
                return Self.asExposure(received)
            }
        }
        return all
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
                seen.exchanges += exchanges[seen.counts[index]...].map { exchange in
                    var exchange = exchange
                    exchange.number = number(exchange.number, of: index)
                    return exchange
                }
                seen.counts[index] = exchanges.count
            }
            return seen.exchanges
        }
    }

    func close() async { for stage in stages { await stage.close() } }
}
