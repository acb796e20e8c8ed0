import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import EvergageAdapter

/// An application that uses the vendor's own calls, with a mock vendor and a manual clock.
@MainActor
final class App {
    let vendor = EvergageMock()
    let transport: VendorTransport
    let time: ManualTime
    let log = RecordingLog()
    let store: ClientStore
    let environment: ClientEnvironment
    private(set) var evergage: Evergage

    /// A campaign for target `T` that answers each action of its name.
    static func campaign(_ id: String, target: String = "T", action: String, control: Int = 0) -> String {
        """
        {"campaignId":"\(id)","campaignName":"Name \(id)","experienceId":"x-\(id)","target":"\(target)",
         "actions":["\(action)"],"controlPercent":\(control),"data":{"id":"\(id)"},
         "promotedItemKeys":[{"type":"p","_id":"sku-1"}]}
        """
    }

    init(
        campaigns: String...,
        policy: Evergage.PreStartPolicy = .queue,
        lifecycle: Bool = false,
        version: String? = nil,
        start: Bool = true,
        world: String? = nil,
        configuration: EvergageConfiguration = .test,
        store: ClientStore = .inMemory(),
        time: ManualTime = ManualTime(),
        anonymousID: String? = "anon-1"
    ) async throws {
        try await vendor.load(
            Data(
                (world ?? #"{"datasets":["engage","d2"],"campaigns":[\#(campaigns.joined(separator: ","))]}"#).utf8
            )
        )
        transport = VendorTransport(vendor)
        self.time = time
        self.store = store
        let counter = Counter()
        environment = ClientEnvironment(
            time: time,
            makeID: { "\(UInt.random(in: 0...UInt.max))-\(counter.next())" },
            jitter: { 0.5 },
            log: log
        )
        evergage = Evergage(
            store: store,
            anonymousID: anonymousID,
            applicationVersion: version,
            sendsLifecycleEvents: lifecycle,
            preStartPolicy: policy,
            transport: transport,
            environment: environment
        )
        // Each is a process of its own.
        evergage.process = EvergageProcess()
        if start {
            evergage.start(configuration)
            await settle()
        }
    }

    /// Another data set of the same account.
    static var second: EvergageConfiguration {
        var configuration = EvergageConfiguration.test
        configuration.dataset = "d2"
        return configuration
    }

    var global: EvergageContext {
        get throws { try #require(evergage.globalContext) }
    }

    /// Returns a visible screen.
    func shownScreen(_ name: String? = nil) throws -> EvergageScreen {
        let screen = try #require(evergage.makeScreen(name: name))
        screen.didAppear()
        return screen
    }

    /// Delivers what is due and lets handlers run.
    func settle() async {
        // Without waiting for a further attempt, which would never come because time is stopped.
        await evergage.flush(within: .milliseconds(1))
        await mainActorTurn()
    }

    func pass(_ seconds: Double) async {
        time.advance(by: .milliseconds(Int64(seconds * 1000)))
        await settle()
    }

    func goOffline() {
        transport.setDetour { _, _ throws(ExperimentationError) in
            throw ExperimentationError(.transport, "no network")
        }
    }
    func goOnline() { transport.setDetour(nil) }

    var actions: [String] { transport.events.map { $0["action"]?.stringValue ?? "-" } }
    var pings: [String] { transport.pings }
    func user(_ key: String) async -> FlagValue? { await vendor.user(key) }

    /// The mock's cart of the anonymous user: quantities by id.
    func cart() async -> [String: Int] {
        var lines: [String: Int] = [:]
        for line in await user("anon-1")?["cart"]?.arrayValue ?? [] {
            lines[line["_id"]?.stringValue ?? "?"] = line["quantity"]?.intValue
        }
        return lines
    }

    func orders() async -> [FlagValue] { await user("anon-1")?["orders"]?.arrayValue ?? [] }

    func complaints(_ level: LogLevel) -> [String] {
        log.entries.filter { $0.level == level && $0.event.hasPrefix("evergage") }.map(\.message)
    }
}

extension EvergageItem {
    static let p = EvergageItem.product(id: "p", name: "P", price: 10)
    static let q = EvergageItem.product(id: "q", price: 5)
}
