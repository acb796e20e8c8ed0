import EvergageSQLite
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing
import Waiting

@testable import EvergageAdapter

@Suite("Evergage stores on the device what the vendor's SDK stores")
@MainActor
struct DurableTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    private func evergage(_ transport: VendorTransport, _ time: ManualTime) -> Evergage {
        Evergage(
            sendsLifecycleEvents: false,
            in: folder,
            transport: transport,
            environment: ClientEnvironment(time: time, log: NoLog())
        )
    }

    @Test("without a given store, events and the anonymous id survive the process")
    func outlives() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let (transport, time) = (VendorTransport(EvergageMock()), ManualTime())
        let first = evergage(transport, time)
        first.setConnectivity(.offline)
        first.start(.test)
        await first.flush(within: .milliseconds(1))
        first.globalContext?.trackAction("A")
        await first.flush(within: .milliseconds(1))
        let id = try #require(first.anonymousID)
        #expect(transport.events.isEmpty)
        await first.client?.shutdown(within: .zero)
        let second = evergage(transport, time)
        second.start(.test)
        await second.flush(within: .milliseconds(1))
        #expect(second.anonymousID == id)
        #expect(transport.events.map { $0["action"] } == ["A"])
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: "evergage.sqlite").path))
        await second.client?.shutdown(within: .zero)
    }

    @Test("a file that can't be opened is logged as an error, and everything works in memory")
    func noFile() async throws {
        try Data().write(to: folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (log, transport) = (RecordingLog(), VendorTransport(EvergageMock()))
        let evergage = Evergage(
            sendsLifecycleEvents: false,
            in: folder,
            transport: transport,
            environment: ClientEnvironment(time: ManualTime(), log: log)
        )
        #expect(log.entries.filter { $0.level == .error }.map(\.event) == ["evergage.store"])
        evergage.start(.test)
        evergage.globalContext?.trackAction("A")
        await evergage.flush(within: .milliseconds(1))
        #expect(transport.events.map { $0["action"] } == ["A"])
    }

    @Test("V87 of more than a thousand events, the oldest that isn't a purchase is dropped")
    func overflow() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let app = try await App(store: Evergage.durableStore(in: folder))
        app.evergage.setConnectivity(.offline)
        await app.settle()
        try app.global.purchase(EvergageOrder(orderID: "A", lineItems: [EvergageLineItem(item: .p)]))
        for number in 1...1_001 { try app.global.trackAction("E\(number)") }
        await app.settle()
        app.evergage.setConnectivity(.online)
        try await eventually("everything is delivered") {
            await app.settle()
            return try await app.evergage.client?.ledger().pending == 0
        }
        #expect(app.actions.count == 1_000)
        #expect(app.actions.prefix(2) == ["Purchase", "E3"] && app.actions.last == "E1001")
        let ledger = try await app.evergage.client?.ledger()
        #expect(ledger == Ledger(accepted: 1_002, delivered: 1_000, dropped: [.overflow: 2]))
    }
}
