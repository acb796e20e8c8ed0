import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Testing

@testable import SigmaAdapter

@Suite("The user's properties")
struct UserTests {
    @Test("S59 setting properties removes the earlier ones")
    func setDrops() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user { $0.setEmail("a@example.com").setCustomProperty("pro", key: "plan") })
        #expect(try await client.text("chat") == "true")
        client.setUserProperties { $0.setEmail("b@example.com") }
        #expect(try await client.text("chat") == "false")
        #expect(await Self.properties(client) == ["email": "b@example.com"])
    }

    @Test("S60 editing properties keeps the others")
    func editKeeps() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user { $0.setEmail("a@example.com").setCustomProperty("pro", key: "plan") })
        client.editUserProperties { $0.setEmail("b@example.com") }
        #expect(try await client.text("chat") == "true")
        #expect(
            await Self.properties(client) == [
                "userId": "u-1", "os.name": "iOS", "appVersion": "2.10.0", "email": "b@example.com",
                "custom.plan": "pro",
            ]
        )
    }

    @Test("S61 clearing keeps the private id, and sends nothing")
    func clear() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user { $0.setCustomProperty("pro", key: "plan") })
        #expect(try await client.text("chat") == "true")
        client.clearUserProperties()
        #expect(try await client.text("chat") == "false")
        #expect(stage.transport.requests.count == 1)
        let context = await client.profile.evaluated().context
        #expect(context.user.id == stage.transport.requests.first?.headerFields.userID)
        #expect(context.user.attributes.isEmpty)
    }

    @Test("S62 a property is valid for 24 hours and then absent, for negations too")
    func ageing() async throws {
        let stage = Stage(configuration: Self.plans)
        let client = try stage.client(stage.user { $0.setCustomProperty("pro", key: "plan") })
        #expect(try await client.text("is") == "yes")
        #expect(try await client.text("isn't") == "no")
        stage.time.advance(by: .seconds(25 * 3600))
        #expect(try await client.text("is") == "no")
        #expect(try await client.text("isn't") == "no")
        #expect(try await client.text("user") == "no")
    }

    @Test("S63 setting the same value again renews the 24 hours, for that property only")
    func setAgain() async throws {
        let stage = Stage(configuration: Self.plans)
        let client = try stage.client(stage.user { $0.setCustomProperty("pro", key: "plan") })
        stage.time.advance(by: .seconds(23 * 3600))
        client.editUserProperties { $0.setCustomProperty("pro", key: "plan") }
        stage.time.advance(by: .seconds(2 * 3600))
        #expect(try await client.text("is") == "yes")
        #expect(try await client.text("user") == "no")
        await client.saved()
        #expect(try await stage.client().text("is") == "yes")
        stage.time.advance(by: .seconds(23 * 3600))
        #expect(try await client.text("is") == "no")
    }

    @Test("an expired id gives way to the private one")
    func agedID() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user("held") { $0.setProfileId("p-1") })
        #expect(try await client.getAllUserExperiments() == "hold_q1.0|delay.test.0")
        stage.time.advance(by: .seconds(25 * 3600))
        #expect(try await client.getAllUserExperiments() == "button_test.1")
    }

    @Test("every setter has its property")
    func setters() {
        let builder = SigmaUser.Builder(time: ManualTime())
        let user = builder.setUserId("1").setProfileId("2").setDeviceId("3").setEmail("4").setAppVersion("5")
            .setOsName("6").setOsVersion("7").setGeoCode("8").setGeoCountry("9").setGeoState("10").setGeoCity("11")
            .setCustomProperty(true, key: "a").setCustomProperty(2, key: "b").setCustomProperty(2.0, key: "c")
            .setCustomProperty("text", key: "d").setCustomProperty(FlagValue.string("raw"), key: "e")
            .build()
        #expect(
            user.properties == [
                "userId": "1", "profileId": "2", "deviceId": "3", "email": "4", "appVersion": "5", "os.name": "6",
                "os.version": "7", "geo.code": "8", "geo.country": "9", "geo.state": "10", "geo.city": "11",
                "custom.a": "true", "custom.b": "2", "custom.c": "2.0", "custom.d": "text", "custom.e": "raw",
            ]
        )
        #expect(builder.setEmail(nil).setCustomProperty(nil as Int?, key: "a").build().properties.count == 14)
    }

    @Test("a number is compared as itself, however it is written", arguments: [0.00001, 0.25, -1e16])
    func numbers(number: Double) async throws {
        let less = #"{"name":"custom.n","condition_sign":"less","value":["1"]}"#
        let stage = Stage(
            configuration: #"""
                {"use_geo":false,"feature_flags":[{"name":"f","type":"bool","rules":[
                  {"is_default":true,"value":"false","conditional_statement":"-","conditions":[]},
                  {"is_default":false,"value":"true","conditional_statement":"AND","conditions":[\#(less)]}]}]}
                """#
        )
        let client = try stage.client(stage.user { $0.setCustomProperty(number, key: "n") })
        #expect(try await client.text("f") == "true")
        client.editUserProperties { $0.setCustomProperty(FlagValue.double(number), key: "n") }
        #expect(try await client.text("f") == "true")
        client.editUserProperties { $0.setCustomProperty(Float(number), key: "n") }
        #expect(try await client.text("f") == "true")
    }

    @Test("a removed property shows the device's own value again")
    func takenBack() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user { $0.setOsName("Other") })
        #expect(try await client.text("button") == "grey")
        client.editUserProperties { $0.setOsName(nil) }
        #expect(try await client.text("button") == "red")
    }

    @Test("a user survives a round trip with the age of each property")
    func coding() throws {
        let time = ManualTime(now: Reference.noon)
        let user = SigmaUser.Builder(time: time).setUserId("u").build()
        let data = try JSONEncoder().encode(user)
        #expect(try JSONDecoder().decode(SigmaUser.self, from: data) == user)
        #expect(user.dates == ["userId": Reference.noon])
        struct Shape: Decodable {
            var properties: [String: String]
            var sigmaExpiration: [String: String]
        }
        #expect(try JSONDecoder().decode(Shape.self, from: data).properties == ["userId": "u"])
        #expect(try JSONDecoder().decode(Shape.self, from: data).sigmaExpiration.keys.sorted() == ["userId"])
    }

    @Test("concurrent changes from many tasks all apply, and the last state is stored")
    func concurrency() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask { client.editUserProperties { $0.setCustomProperty(number, key: "n\(number)") } }
            }
        }
        await client.saved()
        #expect(await Self.properties(client).count == 53)
        #expect(await Self.properties(try stage.client()).count == 53)
    }

    @Test("the device is known on this platform too")
    func device() {
        let device = SigmaDevice.current
        #expect(device.osName?.isEmpty == false)
        #expect(device.osVersion.flatMap { VersionNumber($0) } != nil)
        #if os(Linux)
            #expect(device.osName == "Linux")
        #endif
    }

    private static func properties(_ client: SigmaClient) async -> [String: String] {
        return await client.profile.evaluated().context.user.attributes.values.compactMapValues(\.stringValue)
    }

    private static func flag(_ name: String, _ property: String, _ sign: String, _ text: String) -> String {
        """
        {"name":"\(name)","type":"string","rules":[
          {"is_default":false,"value":"yes","conditional_statement":"AND","conditions":[
            {"name":"\(property)","condition_sign":"\(sign)","value":["\(text)"]}]},
          {"is_default":true,"value":"no","conditional_statement":"-","conditions":[]}]}
        """
    }

    private static let plans = """
        {"use_geo":false,"feature_flags":[\(flag("is", "custom.plan", "equal", "pro")),
          \(flag("isn't", "custom.plan", "not equal", "pro")),\(flag("user", "userId", "equal", "u-1"))]}
        """
}
