/// The name of an operation of the XML interface.
///
/// Any name can be used; these are the ones for which the vendor's own SDK has constants.
public struct XMLAPIOperation: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible
{
    /// The name on the wire, which is case-sensitive.
    public let rawValue: String
    /// Creates an operation from its name on the wire.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Creates an operation from its name on the wire.
    public init(stringLiteral value: String) { rawValue = value }
    /// The name on the wire.
    public var description: String { rawValue }

    /// `SendMailing`, the reference's `XMLAPI_OPERATION_SEND_MAILING`.
    public static let sendMailing: Self = "SendMailing"
    /// `ForwardToFriend`, the reference's `XMLAPI_OPERATION_FORWARD_TO_FRIEND`.
    public static let forwardToFriend: Self = "ForwardToFriend"
    /// `GetContactMailingDetails`, the reference's `XMLAPI_OPERATION_GET_CONTACT_MAILING_DETAILS`.
    public static let getContactMailingDetails: Self = "GetContactMailingDetails"
    /// `PurgeData`, the reference's `XMLAPI_OPERATION_PURGE_DATA`.
    public static let purgeData: Self = "PurgeData"
    /// `AddRecipient`, the reference's `XMLAPI_OPERATION_ADD_RECIPIENT`.
    public static let addRecipient: Self = "AddRecipient"
    /// `DoubleOptInRecipient`, the reference's `XMLAPI_OPERATION_DOUBLE_OPT_IN_RECIPIENT`.
    public static let doubleOptInRecipient: Self = "DoubleOptInRecipient"
    /// `UpdateRecipient`, the reference's `XMLAPI_OPERATION_UPDATE_RECIPIENT`.
    public static let updateRecipient: Self = "UpdateRecipient"
    /// `OptOutRecipient`, the reference's `XMLAPI_OPERATION_OPT_OUT_RECIPIENT`.
    public static let optOutRecipient: Self = "OptOutRecipient"
    /// `SelectRecipientData`, the reference's `XMLAPI_OPERATION_SELECT_RECIPIENT_DATA`.
    public static let selectRecipientData: Self = "SelectRecipientData"
    /// `Login`, the reference's `XMLAPI_OPERATION_LOGIN`.
    public static let login: Self = "Login"
    /// `Logout`, the reference's `XMLAPI_OPERATION_LOG_OUT`.
    public static let logOut: Self = "Logout"
    /// `ImportList`, the reference's `XMLAPI_OPERATION_IMPORT_LIST`.
    public static let importList: Self = "ImportList"
    /// `ExportList`, the reference's `XMLAPI_OPERATION_EXPORT_LIST`.
    public static let exportList: Self = "ExportList"
    /// `AddListColumn`, the reference's `XMLAPI_OPERATION_ADD_LIST_COLUMN`.
    public static let addListColumn: Self = "AddListColumn"
    /// `GetListMetaData`, the reference's `XMLAPI_OPERATION_GET_LIST_META_DATA`.
    public static let getListMetaData: Self = "GetListMetaData"
    /// `ListRecipientMailings`, the reference's `XMLAPI_OPERATION_LIST_RECIPIENT_MAILINGS`.
    public static let listRecipientMailings: Self = "ListRecipientMailings"
    /// `RemoveRecipient`, the reference's `XMLAPI_OPERATION_REMOVE_RECIPIENT`.
    public static let removeRecipient: Self = "RemoveRecipient"
    /// `GetLists`, the reference's `XMLAPI_OPERATION_GET_LISTS`.
    public static let getLists: Self = "GetLists"
    /// `CreateTable`, the reference's `XMLAPI_OPERATION_CREATE_TABLE`.
    public static let createTable: Self = "CreateTable"
    /// `JoinTable`, the reference's `XMLAPI_OPERATION_JOIN_TABLE`.
    public static let joinTable: Self = "JoinTable"
    /// `InsertUpdateRelationalTable`, the reference's `XMLAPI_OPERATION_INSERT_UPDATE_RELATIONAL_TABLE`.
    public static let insertUpdateRelationalTable: Self = "InsertUpdateRelationalTable"
    /// `DeleteRelationalTableData`, the reference's `XMLAPI_OPERATION_DELETE_RELATIONAL_TABLE_DATA`.
    public static let deleteRelationalTableData: Self = "DeleteRelationalTableData"
    /// `ImportTable`, the reference's `XMLAPI_OPERATION_IMPORT_TABLE`.
    public static let importTable: Self = "ImportTable"
    /// `ExportTable`, the reference's `XMLAPI_OPERATION_EXPORT_TABLE`.
    public static let exportTable: Self = "ExportTable"
    /// `PurgeTable`, the reference's `XMLAPI_OPERATION_PURGE_TABLE`.
    public static let purgeTable: Self = "PurgeTable"
    /// `DeleteTable`, the reference's `XMLAPI_OPERATION_DELETE_TABLE`.
    public static let deleteTable: Self = "DeleteTable"
    /// `CreateContactList`, the reference's `XMLAPI_OPERATION_CREATE_CONTACT_LIST`.
    public static let createContactList: Self = "CreateContactList"
    /// `AddContactToContactList`, the reference's `XMLAPI_OPERATION_ADD_CONTACT_TO_CONTACT_LIST`.
    public static let addContactToContactList: Self = "AddContactToContactList"
    /// `AddContactToProgram`, the reference's `XMLAPI_OPERATION_ADD_CONTACT_TO_PROGRAM`.
    public static let addContactToProgram: Self = "AddContactToProgram"
    /// `CreateQuery`, the reference's `XMLAPI_OPERATION_CREATE_QUERY`.
    public static let createQuery: Self = "CreateQuery"
    /// `CalculateQuery`, the reference's `XMLAPI_OPERATION_CALCULATE_QUERY`.
    public static let calculateQuery: Self = "CalculateQuery"
    /// `SetColumnValue`, the reference's `XMLAPI_OPERATION_SET_COLUMN_VALUE`.
    public static let setColumnValue: Self = "SetColumnValue"
    /// `TrackingMetricExport`, the reference's `XMLAPI_OPERATION_TRACKING_METRIC_EXPORT`.
    public static let trackingMetricExport: Self = "TrackingMetricExport"
    /// `RawRecipientDataExport`, the reference's `XMLAPI_OPERATION_RAW_RECIPIENT_DATA_EXPORT`.
    public static let rawRecipientDataExport: Self = "RawRecipientDataExport"
    /// `WebTrackingDataExport`, the reference's `XMLAPI_OPERATION_WEB_TRACKING_DATA_EXPORT`.
    public static let webTrackingDataExport: Self = "WebTrackingDataExport"
    /// `GetReportIdByDate`, the reference's `XMLAPI_OPERATION_GET_REPORT_ID_BY_DATE`.
    public static let getReportIdByDate: Self = "GetReportIdByDate"
    /// `GetSentMailingsForOrg`, the reference's `XMLAPI_OPERATION_GET_SENT_MAILINGS_FOR_ORG`.
    public static let getSentMailingsForOrg: Self = "GetSentMailingsForOrg"
    /// `GetSentMailingsForUser`, the reference's `XMLAPI_OPERATION_GET_SENT_MAILINGS_FOR_USER`.
    public static let getSentMailingsForUser: Self = "GetSentMailingsForUser"
    /// `GetSentMailingsForList`, the reference's `XMLAPI_OPERATION_GET_SENT_MAILINGS_FOR_LIST`.
    public static let getSentMailingsForList: Self = "GetSentMailingsForList"
    /// `GetAggregateTrackingForMailing`, the reference's `XMLAPI_OPERATION_GET_AGGREGATE_TRACKING_FOR_MAILING`.
    public static let getAggregateTrackingForMailing: Self = "GetAggregateTrackingForMailing"
    /// `GetAggregateTrackingForOrg`, the reference's `XMLAPI_OPERATION_GET_AGGREGATE_TRACKING_FOR_ORG`.
    public static let getAggregateTrackingForOrg: Self = "GetAggregateTrackingForOrg"
    /// `GetAggregateTrackingForUser`, the reference's `XMLAPI_OPERATION_GET_AGGREGATE_TRACKING_FOR_USER`.
    public static let getAggregateTrackingForUser: Self = "GetAggregateTrackingForUser"
    /// `GetJobStatus`, the reference's `XMLAPI_OPERATION_GET_JOB_STATUS`.
    public static let getJobStatus: Self = "GetJobStatus"
    /// `DeleteJob`, the reference's `XMLAPI_OPERATION_DELETE_JOB`.
    public static let deleteJob: Self = "DeleteJob"
    /// `GetFolderPath`, the reference's `XMLAPI_OPERATION_GET_FOLDER_PATH`.
    public static let getFolderPath: Self = "GetFolderPath"
    /// `ScheduleMailing`, the reference's `XMLAPI_OPERATION_SCHEDULE_MAILING`.
    public static let scheduleMailing: Self = "ScheduleMailing"
    /// `PreviewMailing`, the reference's `XMLAPI_OPERATION_PREVIEW_MAILING`.
    public static let previewMailing: Self = "PreviewMailing"
    /// `GetMessageGroupDetails`, the reference's `XMLAPI_OPERATION_GET_MESSAGE_GROUP_DETAILS`.
    public static let getMessageGroupDetails: Self = "GetMessageGroupDetails"
    /// `AddDCRuleset`, the reference's `XMLAPI_OPERATION_ADD_DYNAMIC_CONTENT_RULE_SET`.
    public static let addDynamicContentRuleSet: Self = "AddDCRuleset"
    /// `ImportDCRuleset`, the reference's `XMLAPI_OPERATION_IMPORT_DYNAMIC_CONTENT_RULE_SET`.
    public static let importDynamicContentRuleSet: Self = "ImportDCRuleset"
    /// `ExportDCRuleset`, the reference's `XMLAPI_OPERATION_EXPORT_DYNAMIC_CONTENT_RULE_SET`.
    public static let exportDynamicContentRuleSet: Self = "ExportDCRuleset"
    /// `ListDCRulesetsForMailing`, the reference's `XMLAPI_OPERATION_LIST_DYNAMIC_CONTENT_RULE_SETS_FOR_MAILING`.
    public static let listDynamicContentRuleSetsForMailing: Self = "ListDCRulesetsForMailing"
    /// `GetDCRuleset`, the reference's `XMLAPI_OPERATION_GET_DYNAMIC_CONTENT_RULE_SET`.
    public static let getDynamicContentRuleSet: Self = "GetDCRuleset"
    /// `ReplaceDCRuleset`, the reference's `XMLAPI_OPERATION_REPLACE_DYNAMIC_CONTENT_RULE_SET`.
    public static let replaceDynamicContentRuleSet: Self = "ReplaceDCRuleset"
    /// `ValidateDCRuleset`, the reference's `XMLAPI_OPERATION_VALIDATE_DYNAMIC_CONTENT_RULE_SET`.
    public static let validateDynamicContentRuleSet: Self = "ValidateDCRuleset"
    /// `DeleteDCRuleset`, the reference's `XMLAPI_OPERATION_DELETE_DYNAMIC_CONTENT_RULE_SET`.
    public static let deleteDynamicContentRuleSet: Self = "DeleteDCRuleset"
    /// `GetMailingTemplates`, the reference's `XMLAPI_OPERATION_GET_MAILING_TEMPLATES`.
    public static let getMailingTemplates: Self = "GetMailingTemplates"
    /// `ExportMailingTemplate`, the reference's `XMLAPI_OPERATION_EXPORT_MAILING_TEMPLATE`.
    public static let exportMailingTemplate: Self = "ExportMailingTemplate"

    /// All operations, in the order of the reference.
    public static let all: [Self] = [
        .sendMailing, .forwardToFriend, .getContactMailingDetails, .purgeData, .addRecipient, .doubleOptInRecipient,
        .updateRecipient, .optOutRecipient, .selectRecipientData, .login, .logOut, .importList, .exportList,
        .addListColumn, .getListMetaData, .listRecipientMailings, .removeRecipient, .getLists, .createTable,
        .joinTable, .insertUpdateRelationalTable, .deleteRelationalTableData, .importTable, .exportTable, .purgeTable,
        .deleteTable, .createContactList, .addContactToContactList, .addContactToProgram, .createQuery,
        .calculateQuery, .setColumnValue, .trackingMetricExport, .rawRecipientDataExport, .webTrackingDataExport,
        .getReportIdByDate, .getSentMailingsForOrg, .getSentMailingsForUser, .getSentMailingsForList,
        .getAggregateTrackingForMailing, .getAggregateTrackingForOrg, .getAggregateTrackingForUser, .getJobStatus,
        .deleteJob, .getFolderPath, .scheduleMailing, .previewMailing, .getMessageGroupDetails,
        .addDynamicContentRuleSet, .importDynamicContentRuleSet, .exportDynamicContentRuleSet,
        .listDynamicContentRuleSetsForMailing, .getDynamicContentRuleSet, .replaceDynamicContentRuleSet,
        .validateDynamicContentRuleSet, .deleteDynamicContentRuleSet, .getMailingTemplates, .exportMailingTemplate,
    ]
}
