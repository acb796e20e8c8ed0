import Experimentation
import Foundation
import GatewayBodies
import HTTPTypes
import Testing

@testable import GatewayServer

/// Bodies that were good before bytes of them were changed: what reads them refuses them or makes sense of them, and ends.
@Suite("Mutated bodies")
struct MutatedBodyTests {
    private static let steps = ProcessInfo.processInfo.environment["SOAK"] == "1" ? 2_000_000 : 20_000
    private static let evaluations = [
        #"{"context":{"targetingKey":"ada","plan":"pro","n":[1,2.5e3,{"a":null}],"consent":"granted","anonymousId":"x"}}"#,
        #"{"context":{"targetingKey":"Größe 🫖","authenticated":true,"deep":{"a":{"b":{"c":[[[-0.0]]]}}}}}"#, "{}", "",
    ]
    private static let events = [
        #"{"id":"order-7","user":{"id":"ada","consent":true},"event":{"type":"goalCompleted","name":"signed-up"}}"#,
        #"{"id":"review","user":{"id":"ada","attributes":{"note":"most changes of a text leave it one"}},"event":{"type":"custom","name":"x"}}"#,
        #"{"events":[{"id":"1","user":{"id":"u","attributes":{"a":1}},"event":{"type":"custom","name":"x","value":2.5},"at":"2026-11-21T10:00:00.000Z"},{}]}"#,
    ]
    private static let pieces = [
        "\"", "{", "}", "[", "]", ",", ":", "\\u0000", "\\ud800", "1e999", "null", "\u{0}", "é", "-",
    ]

    /// The generator of one test: its steps are the same in every run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 33
        }
    }

    private static func mutated(_ bytes: [UInt8], _ numbers: inout Numbers) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &numbers) {
            let place = Int.random(in: 0...bytes.count, using: &numbers)
            switch Int.random(in: 0..<5, using: &numbers) {
            case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &numbers)
            case 1 where place < bytes.count: bytes.remove(at: place)
            case 2: bytes.removeLast(bytes.count - place)
            case 3 where place < bytes.count:
                let end = Int.random(in: place..<bytes.count, using: &numbers)
                bytes.insert(contentsOf: bytes[place...end], at: place)
            default: bytes.insert(contentsOf: Array((pieces.randomElement(using: &numbers) ?? "").utf8), at: place)
            }
        }
        return bytes
    }

    @Test("a context is either a user with an id or an error in the protocol's format")
    func contexts() throws {
        var numbers = Numbers(state: 1)
        var (read, refused) = (0, 0)
        for step in 0..<Self.steps {
            let body = Self.mutated(Array(Self.evaluations[step % Self.evaluations.count].utf8), &numbers)
            do throws(ProtocolError) {
                let request = try EvaluationRequest(body: body, consent: .unknown)
                #expect(!request.user.id.isEmpty)
                read += 1
            } catch {
                #expect(
                    error.status == .badRequest && !error.details.isEmpty,
                    "\(String(decoding: body, as: UTF8.self))"
                )
                refused += 1
            }
        }
        #expect(read > Self.steps / 50 && refused > Self.steps / 50, "\(read) read, \(refused) refused")
    }

    @Test("a list of events is either a list of events and refusals or an error in the protocol's format")
    func eventLists() throws {
        var numbers = Numbers(state: 2)
        var (read, refused) = (0, 0)
        for step in 0..<Self.steps {
            let body = Self.mutated(Array(Self.events[step % Self.events.count].utf8), &numbers)
            do throws(ProtocolError) {
                for event in try EventsRequest(body: body, consent: .unknown).events {
                    switch event {
                    case .success(let event):
                        #expect(!event.id.isEmpty && !event.user.id.isEmpty)
                        read += 1
                    case .failure(let refusal): #expect(!refusal.message.isEmpty && !refusal.mayPass)
                    }
                }
            } catch {
                #expect([.badRequest, .contentTooLarge].contains(error.status) && !error.details.isEmpty)
                refused += 1
            }
        }
        #expect(read > Self.steps / 50 && refused > Self.steps / 50, "\(read) read, \(refused) refused")
    }
}
