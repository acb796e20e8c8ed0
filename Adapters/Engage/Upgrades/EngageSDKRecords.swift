import Experimentation
import Foundation

/// The vendor's own SDK's entries in the user defaults, imported so that an upgrade gives no user a second recipient.
///
/// ```swift
/// try await engage.takeOver(EngageSDKRecords(in: .standard))
/// ```
///
/// The names of the entries were found in the SDK for iOS 1.1.0. The end of the campaign isn't among them: the SDK
/// never stored it.
public struct EngageSDKRecords: Sendable, Hashable {
    /// The mobile user id.
    public var mobileUserID: String
    /// The recipient's id.
    public var recipientID: String
    /// The id of the recipient that the deprecated calls created.
    public var anonymousID: String
    /// The device's id.
    public var deviceID: String
    /// The latest campaign.
    public var campaign: String
    /// Whether the installation was reported.
    public var isInstalled: Bool

    /// Creates records.
    public init(
        mobileUserID: String = "",
        recipientID: String = "",
        anonymousID: String = "",
        deviceID: String = "",
        campaign: String = "",
        isInstalled: Bool = false
    ) {
        self.mobileUserID = mobileUserID
        self.recipientID = recipientID
        self.anonymousID = anonymousID
        self.deviceID = deviceID
        self.campaign = campaign
        self.isInstalled = isInstalled
    }

    /// Reads the records; missing ones are empty.
    public init(in defaults: UserDefaults) {
        func text(_ name: String) -> String { defaults.string(forKey: name) ?? "" }
        self.init(
            mobileUserID: text("engagePrimaryUserId"),
            recipientID: text("recipientId"),
            anonymousID: text("engageAnonymousId"),
            deviceID: text("deviceId"),
            campaign: text("engageCurrentCampaign"),
            isInstalled: ["YES", "1", "TRUE"].contains(text("engageClientInstalled").uppercased())
        )
    }
}

extension Engage {
    /// Imports the entries of the vendor's SDK, once per installation; call it before you prepare the mobile user id.
    ///
    /// Ids that are already known stay, and so does everything after a denial of consent or ``EngageProfile/clear()``:
    /// removed data doesn't come back. The campaign counts from now on, for as long as one without an end.
    ///
    /// - Parameter records: The SDK's entries.
    /// - Returns: Whether the entries were imported by this call.
    /// - Throws: `ErrorCode.store`.
    @discardableResult
    public func takeOver(_ records: EngageSDKRecords) async throws(ExperimentationError) -> Bool {
        let now = environment.time.now
        let scan = events.translation.scan
        let campaign: [String: FlagValue] = [scan.names.currentCampaign: .string(records.campaign)]
        let user = records.mobileUserID.isEmpty ? nil : records.mobileUserID
        return try await profile.update { record in
            guard !record.hasTakenOver else { return false }
            record.hasTakenOver = true
            record.isInstalled = record.isInstalled || records.isInstalled
            // A user who denied consent doesn't come back under an earlier version's ids.
            if record.awaited != nil { return true }
            // Imports both ids or none: the ids of two people must not be mixed.
            if record.mobileUserID.isEmpty, record.recipientID.isEmpty {
                record.mobileUserID = records.mobileUserID
                record.recipientID = records.recipientID
                // The SDK stored the mobile user id before it added the recipient, whose answer may have been lost.
                if records.recipientID.isEmpty, !records.mobileUserID.isEmpty {
                    record.addUnderWay = records.mobileUserID
                }
            }
            if record.anonymousID.isEmpty { record.anonymousID = records.anonymousID }
            if record.deviceID.isEmpty { record.deviceID = records.deviceID }
            if record.campaigns.entries.isEmpty,
                let campaign = scan.campaign(in: campaign, at: now, of: user)
            {
                record.campaigns.put(campaign)
            }
            return true
        }
    }
}
