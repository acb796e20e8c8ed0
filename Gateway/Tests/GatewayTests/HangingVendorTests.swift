import Experimentation
import ExperimentationTesting
import GatewayWaiting
import Testing

@testable import GatewayServer

/// Evaluations while a vendor doesn't answer, and good rules are in memory.
@Suite("A vendor that hangs")
struct HangingVendorTests {
    private static let path = "/ofrep/v1/evaluate/flags/value"
    private static let ada = #"{"context":{"targetingKey":"ada","consent":true}}"#

    private let time = ManualTime()
    private let vendor = HangingVendor(ChangingVendor(validFor: .seconds(3_600)))

    private static func body(_ reason: String) -> String {
        #"{"key":"value","reason":"\#(reason)","value":0,"variant":"v"}"#
    }

    /// Serves the vendor once its rules are there, and holds no answer back at the end.
    private func served(_ body: @escaping @Sendable (Served) async throws -> Void) async throws {
        let vendor = vendor
        try await Served.run(over: vendor, time: time) { served in
            let result: Result<Void, any Error>
            do {
                try await eventually("it is ready", within: .seconds(20)) {
                    try await served.wire.request("GET", "/ready").status == 200
                }
                #expect(try await served.wire.post(Self.path, Self.ada).body == Self.body("STATIC"))
                result = .success(try await body(served))
            } catch {
                result = .failure(error)
            }
            vendor.give()
            try result.get()
        }
    }

    /// Asks without waiting for the answer.
    private static func ask(_ served: Served) -> Shared<WireAnswer?> {
        let answer = Shared<WireAnswer?>(nil)
        Task {
            let found = try? await served.wire.post(Self.path, Self.ada)
            answer.change { $0 = found }
        }
        return answer
    }

    @Test("when rules expire and no new ones arrive, the old ones answer after two seconds, and from then on at once")
    func expired() async throws {
        let (vendor, time) = (vendor, time)
        try await served { served in
            vendor.hang()
            time.advance(by: .seconds(4_000))
            let first = Self.ask(served)
            try await eventually("the first answer", within: .seconds(20)) {
                time.advance(by: .milliseconds(100))
                return first.value != nil
            }
            #expect(first.value?.body == Self.body("STALE"))
            // Nothing advances the clock from here on.
            let second = Self.ask(served)
            try await eventually("the second answer", within: .seconds(20)) { second.value != nil }
            #expect(second.value?.body == Self.body("STALE"))
            #expect(vendor.held == 1)
        }
    }

    @Test("after a failure the old rules answer at once, and the vendor is asked again every five seconds")
    func failed() async throws {
        let (vendor, time) = (vendor, time)
        try await served { served in
            vendor.hang()
            time.advance(by: .seconds(4_000))
            try await eventually("the vendor is asked", within: .seconds(20)) { vendor.held == 1 }
            vendor.give()
            try await eventually("it has failed", within: .seconds(20)) { served.client.status == .stale }
            vendor.hang()
            let answer = Self.ask(served)
            try await eventually("the answer", within: .seconds(20)) { answer.value != nil }
            #expect(answer.value?.body == Self.body("STALE"))
            // The rules would be fetched again in an hour.
            time.advance(by: .seconds(5))
            try await eventually("the vendor is asked again", within: .seconds(20)) { vendor.held == 1 }
            vendor.give()
            try await eventually("the failure is known", within: .seconds(20)) { vendor.held == 0 }
            try await eventually("the vendor is back", within: .seconds(20)) {
                time.advance(by: .seconds(1))
                return served.client.status == .ready
            }
            #expect(try await served.wire.post(Self.path, Self.ada).body == Self.body("STATIC"))
        }
    }
}
