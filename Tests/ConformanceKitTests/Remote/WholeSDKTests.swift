import ConformanceKit
import ConformanceStages
import Experimentation
import Foundation
import Testing

@Suite("A whole SDK in another process, with its own cache and outbox")
struct WholeSDKTests {
    private func report(of service: PythonService) async throws -> ConformanceReport {
        let subject = try await RemoteSubject.connect(to: service.url)
        let report = await ConformanceRunner(limit: .seconds(120), width: 8).run(
            ConformanceCase.wholeSDK,
            against: [subject]
        )
        withExtendedLifetime(service) {}
        return report
    }

    @Test("the example SDK keeps its declarations, and every case applies to it")
    func conforms() async throws {
        let service = try await PythonService("sdk_service.py")
        let subject = try await RemoteSubject.connect(to: service.url)
        #expect(subject.isWholeSDK && subject.name == "python-sdk")
        let report = try await report(of: service)
        let part = try #require(report.subjects.first)
        #expect(part.results.filter { $0.outcome != .passed }.map(\.account) == [])
        #expect(part.results.map(\.name) == ConformanceCase.wholeSDK.map(\.name))
        #expect(part.unproven == [] && report.isSuccess)
        #expect(part.verified == part.capabilities && part.capabilities.count == 11)
        #expect(part.badge().contains("python-sdk: declares 11, verified 11"))
    }

    @Test("an SDK that tries again by itself keeps its declarations as well")
    func persistent() async throws {
        let report = try await report(of: PythonService(broken: "tries again by itself"))
        let part = try #require(report.subjects.first)
        #expect(part.results.filter { $0.outcome != .passed }.map(\.account) == [])
    }

    @Test(
        "a planted fault of the SDK is caught by its case",
        arguments: [
            ("forgets decisions", "sdk/offline-start"), ("shows what another was told", "sdk/not-another-users"),
            ("asks as somebody else", "sdk/targeting"), ("never asks again", "sdk/recovers"),
            ("keeps quiet about age", "sdk/outlives-an-outage"),
            ("drops decisions in an outage", "sdk/outlives-an-outage"), ("ignores the kill switch", "sdk/kill-switch"),
            ("asks while it reads", "sdk/not-ready"), ("says nothing of errors", "sdk/missing-flag"),
            ("takes any type", "sdk/another-type"), ("exposes what nobody saw", "sdk/no-exposure"),
            ("exposes at every read", "sdk/exposure"), ("calls everything the control", "sdk/places"),
            ("keeps what was denied", "sdk/denied"), ("sends backwards", "sdk/order"),
            ("sends one by one", "sdk/batch"), ("sends one by one, and doesn't say what in", "sdk/batch"),
            ("keeps one event of a batch", "sdk/batch"),
            ("gives new ids to repetitions", "sdk/repetition"), ("counts what it sends twice", "sdk/event"),
            ("empties the queue in an outage", "sdk/outage"), ("takes a page for a delivery", "sdk/login-page"),
            ("says that all is done", "sdk/stalled-flush"), ("forgets its accounts when it stops", "sdk/balance"),
            ("drops what waits when it stops", "sdk/event-over-a-stop"),
            ("loses what waits in a kill", "sdk/event-over-a-kill"),
            ("loses decisions in a kill", "sdk/start-after-a-kill"),
        ]
    )
    func caught(_ fault: String, by name: String) async throws {
        let results = try #require(try await report(of: PythonService(broken: fault)).subjects.first).results
        #expect(results.first { $0.name == name }?.outcome.word == "failed", "\(fault)")
    }

    @Test("a declared capability that no case can show fails the run")
    func unproven() async throws {
        let description =
            #"{"result":{"name":"liar","protocol":3,"sdk":true,"capabilities":["holdouts"],"events":[],"decides":true}}"#
        let subject = try await RemoteSubject { command in
            let isDescribe = String(decoding: command, as: UTF8.self).contains("\"describe\"")
            return Array((isDescribe ? description : #"{"result":{"stage":"s"}}"#).utf8)
        }
        let report = await ConformanceRunner().run(ConformanceCase.wholeSDK, against: [subject])
        #expect(report.subjects.first?.unproven == [.holdouts])
        #expect(!report.isSuccess)
    }

    @Test(
        "a ledger whose numbers don't add up fails its case",
        arguments: [
            #"{"accepted":4,"delivered":9223372036854775807,"pending":1}"#,
            #"{"accepted":4,"delivered":1,"pending":3,"dropped":{"expired":9223372036854775807}}"#,
            #"{"accepted":4,"delivered":4,"pending":3,"dropped":{"expired":-3}}"#,
        ]
    )
    func countless(_ ledger: String) async throws {
        let answers = [
            "describe": #"{"name":"liar","protocol":3,"sdk":true,"capabilities":["tracking"],"events":["custom"]}"#,
            "open": #"{"stage":"s"}"#, "sdk.start": #"{"sdk":"x"}"#, "sdk.flush": #"{"done":true}"#,
            "sdk.ledger": ledger,
        ]
        let subject = try await RemoteSubject { command in
            let text = String(decoding: command, as: UTF8.self)
            let answer = answers.first { text.contains("\"command\":\"\($0.key)\"") }?.value
            return Array("{\"result\":\(answer ?? "{}")}".utf8)
        }
        let conformanceCase = try #require(ConformanceCase.wholeSDK.first { $0.name == "sdk/balance" })
        let outcome = await ConformanceRunner().run(conformanceCase, against: subject).outcome
        #expect(outcome.word == "failed")
        #expect(outcome.failures.contains { $0.message.contains("whole number from 0 to") })
    }

    @Test("a subject with separate roles has none of these cases, and says so")
    func role() async throws {
        let service = try await PythonService()
        let subject = try await RemoteSubject.connect(to: service.url)
        #expect(!subject.isWholeSDK)
        let result = await ConformanceRunner().run(ConformanceCase.wholeSDK[0], against: subject)
        #expect(result.outcome.word == "unsupported")
        withExtendedLifetime(service) {}
    }

    @Test("a whole SDK requires the third protocol")
    func oldProtocol() async {
        let description = #"{"result":{"name":"old","protocol":2,"sdk":true,"capabilities":[],"events":[]}}"#
        let error = await #expect(throws: DocumentError.self) {
            _ = try await RemoteSubject { _ in Array(description.utf8) }
        }
        #expect(error?.description.contains("sdk: expected \"protocol\" from 3 on beside it") == true)
    }
}
